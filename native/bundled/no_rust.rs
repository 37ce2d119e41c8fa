// cargo wants a source file: what is used of the crates is C and C++.
