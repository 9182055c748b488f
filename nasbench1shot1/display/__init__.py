"""Pictures: colours, axes, and drawn cells; the only room that imports matplotlib."""
