"""One algorithm a file; ``solve`` chooses, runs and certifies."""
