"""Pictures: colours of methods, figures and axes, and drawn cells."""
