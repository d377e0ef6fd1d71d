"""Ways to hold data as a pencil, one file each."""
