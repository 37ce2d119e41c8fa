"""What the bench and the faults work with: processes of their own, control groups, and disks."""
