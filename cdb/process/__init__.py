"""What a process of cdb's may have, takes and reads ahead, and how it ends."""
