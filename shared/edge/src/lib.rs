//! HTTP: reading requests, proving callers, showing resources, answering errors.
//!
//! The only room that mentions a status, a header, a JSON field or an error code. A handler sees a [`Call`]
//! (a request whose caller is proven), reads what it needs through a [`form::Form`], and answers a [`Reply`]
//! or an [`ApiError`].

mod api;
mod auth;
pub mod capture;
mod cursor;
mod error;
mod etag;
mod failure;
pub mod form;
mod idempotency;
mod json;
pub mod people;
mod reply;
mod request;
pub mod view;

pub use api::{Api, Call, Cursors};
pub use auth::Caller;
pub use error::{ApiError, CODES, ErrorCode, Resource};
pub use etag::ETag;
pub use failure::FieldFailure;
pub use idempotency::replay;
pub use reply::Reply;
pub use request::ApiRequest;
