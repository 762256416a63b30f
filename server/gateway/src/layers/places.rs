//! The requests that the server works on at the same time, if their number is limited.
//!
//! A server that takes more than it can do makes all of it slow: each request waits for all others. Each service has
//! places of its own, so that no flood of one, such as reads or downloads, takes those of another, such as sign-ins. A
//! request has its place until its response begins. What a client reads slowly is limited where it is sent.

use std::collections::HashMap;

use fairness::FairSemaphore;
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use parking_lot::Mutex;
use poem::Response;
use serde_json::json;

use crate::response;

/// The places of all services.
pub(crate) struct Places {
    /// How many each service has; 0: no limit.
    number: usize,
    services: Mutex<HashMap<&'static str, FairSemaphore>>,
}

impl Places {
    /// Returns `number` places for each service; with 0, their number is not limited.
    pub(crate) fn new(number: u32) -> Self {
        Self { number: number as usize, services: Mutex::default() }
    }

    /// Returns those of `service`; `None` if their number is not limited. Every call returns the same ones.
    pub(crate) fn of(&self, service: &'static str) -> Option<FairSemaphore> {
        let places = || FairSemaphore::new(self.number, 0);
        (self.number > 0).then(|| self.services.lock().entry(service).or_insert_with(places).clone())
    }
}

/// Returns the response to a request for which there is no place.
pub(super) fn none_left() -> Response {
    let message = "The server has too many requests at the same time; try again later";
    let mut response = response::json(StatusCode::SERVICE_UNAVAILABLE, &json!({ "message": message }));
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_service_has_places_of_its_own() {
        let places = Places::new(2);
        let (rest, auth) = (places.of("rest").unwrap(), places.of("auth").unwrap());
        let held = [rest.try_acquire(None), rest.try_acquire(None)];
        assert!(held.iter().all(Option::is_some));
        assert!(places.of("rest").unwrap().try_acquire(None).is_none(), "they are the same places");
        assert!(auth.try_acquire(None).is_some());
        drop(held);
        assert!(rest.try_acquire(None).is_some());
        assert!(Places::new(0).of("rest").is_none());
    }
}
