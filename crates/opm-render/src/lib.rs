//! Modules, rendered to components.
