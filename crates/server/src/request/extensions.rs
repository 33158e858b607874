//! Values that middleware leaves with a request for those who come after it.

use std::any::{Any, TypeId};
use std::fmt;

/// At most one value of each type.
///
/// ```
/// use stepwell::{Router, status};
///
/// struct User(String);
///
/// let mut router = Router::new();
/// router.middleware(|req, next| {
///     let Some(name) = req.header("x-user").map(String::from) else {
///         return stepwell::Response::new(status::UNAUTHORIZED);
///     };
///     req.extensions_mut().insert(User(name));
///     next.run(req)
/// });
/// router.get("/me", |req| req.extensions().get::<User>().map(|user| user.0.clone()));
/// ```
#[derive(Default)]
pub struct Extensions {
    // A request carries a handful of values at most: a scan beats a map, and none costs nothing.
    values: Vec<(TypeId, Box<dyn Any + Send>)>,
}

impl Extensions {
    /// Puts a value in and returns the one of this type that was there.
    pub fn insert<T: Any + Send>(&mut self, value: T) -> Option<T> {
        let former = self.remove::<T>();
        self.values.push((TypeId::of::<T>(), Box::new(value)));
        former
    }

    /// The value of this type.
    #[must_use]
    pub fn get<T: Any + Send>(&self) -> Option<&T> {
        let (_, value) = self
            .values
            .iter()
            .find(|(id, _)| *id == TypeId::of::<T>())?;
        value.downcast_ref()
    }

    /// The value of this type, to be changed.
    pub fn get_mut<T: Any + Send>(&mut self) -> Option<&mut T> {
        let (_, value) = self
            .values
            .iter_mut()
            .find(|(id, _)| *id == TypeId::of::<T>())?;
        value.downcast_mut()
    }

    /// Takes the value of this type out.
    pub fn remove<T: Any + Send>(&mut self) -> Option<T> {
        let index = self
            .values
            .iter()
            .position(|(id, _)| *id == TypeId::of::<T>())?;
        self.values
            .swap_remove(index)
            .1
            .downcast()
            .ok()
            .map(|value| *value)
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.values.is_empty() {
            self.values.clear();
            self.values.shrink_to(16);
        }
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({} values)", self.values.len())
    }
}
