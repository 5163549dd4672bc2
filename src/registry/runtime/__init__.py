"""What a long-lived process needs: files, threads, leader election, commit notifications and logs."""
