"""What any schema holds: loaded, read in packed form, digested and compared."""
