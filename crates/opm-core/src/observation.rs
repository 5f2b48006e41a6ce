//! What a look at one object found. A look that failed is never absence.

use serde_json::{Map, Value};

use crate::api_error::ApiError;

/// What a look at one object found, in whichever form the reader wants the object.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation<T = Map<String, Value>> {
    /// The server said, for this very object, that it is not there (or nothing of its kind or
    /// in its namespace can be).
    Absent,
    /// It is there.
    Present(T),
    /// The look failed. Never to be taken for absence.
    Failed(ApiError),
}

impl<T> Observation<T> {
    /// The same look, with the object in another form.
    pub fn map<U>(self, form: impl FnOnce(T) -> U) -> Observation<U> {
        match self {
            Self::Absent => Observation::Absent,
            Self::Present(object) => Observation::Present(form(object)),
            Self::Failed(error) => Observation::Failed(error),
        }
    }

    /// The object, if it is there; none if it is absent.
    pub fn found(self) -> Result<Option<T>, ApiError> {
        match self {
            Self::Absent => Ok(None),
            Self::Present(object) => Ok(Some(object)),
            Self::Failed(error) => Err(error),
        }
    }

    /// The object, if the look found it.
    pub fn present(&self) -> Option<&T> {
        match self {
            Self::Present(object) => Some(object),
            Self::Absent | Self::Failed(_) => None,
        }
    }
}
