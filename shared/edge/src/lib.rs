//! HTTP: parsing of requests, authentication of callers, representations of resources, and errors.
//!
//! Only this crate mentions HTTP statuses, headers, JSON fields and error codes. A handler gets a [`Call`] (a
//! request whose caller is authenticated), parses its input with a [`form::Form`], and returns a [`Reply`] or
//! an [`ApiError`].

mod api;
mod auth;
pub mod capture;
mod cursor;
mod error;
mod etag;
mod failure;
pub mod form;
mod gate;
pub mod gateway;
mod idempotency;
mod json;
pub mod page;
pub mod people;
pub mod provider;
mod reply;
mod request;
mod serve;
pub mod template;
pub mod view;

pub use api::{Api, Call, Cursors};
pub use auth::Caller;
pub use error::{ApiError, CODES, Denied, ErrorCode, Resource};
pub use etag::ETag;
pub use failure::FieldFailure;
pub use gate::{OfCall, Tagged};
pub use idempotency::{created_again, replay};
pub use reply::Reply;
pub use request::ApiRequest;
pub use serve::serve;
pub use template::is_object;
