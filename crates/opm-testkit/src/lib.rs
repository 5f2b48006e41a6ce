//! A real control plane, faults and observations for tests.
