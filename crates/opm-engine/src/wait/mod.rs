//! Waiting for the cluster: until objects are ready, until they are gone, until kinds are
//! served. Every wait has an end, and a permit that ends ends it at once.

mod gone;
mod ready;
mod served;

pub(crate) use ready::{UnreadyObject, WaitTarget};
