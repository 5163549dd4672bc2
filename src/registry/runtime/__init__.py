"""Infrastructure of a long-lived process: files, threads, leader election, commit notifications, metrics and logs."""
