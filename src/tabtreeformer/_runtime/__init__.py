"""What every room may use: progress, threads, seeds, devices, files."""
