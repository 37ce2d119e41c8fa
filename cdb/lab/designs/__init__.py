"""What three other designs teach a coin store, measured where they map to one.

layers: how many look-ups a map of the newest heights answers, as PathDB's layers do. deltas: the
spent heights as bases and the changes after them, as LETUS keeps pages. chunks: index entries that
hold a coin's place in a file of chunks, as Monad's nodes do. cdb bench designs prints the tables.
"""
