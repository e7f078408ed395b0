"""What people add to chatmend: rules, a provider, a wire format, each as one file, put into a copy of the package."""
