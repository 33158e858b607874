//! Stepwell.
