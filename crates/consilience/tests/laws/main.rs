//! Laws that hold for every fusion method.
//!
//! `fitted` checks every method of the library's list after a fit: a new method joins by being in
//! that list. `given` checks the methods with freely chosen parameters to rounding error, and
//! `correlated` the correlated model to its reported numerical error.

mod correlated;
mod fitted;
mod given;
