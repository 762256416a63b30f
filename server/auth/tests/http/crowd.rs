//! Many requests at the same moment, to two nodes of one database.

use futures_util::future::join_all;
use http::StatusCode;

use crate::harness::{Response, Server};

impl Server {
    /// Sends `count` requests at once, alternately to this node and to another one; `ask` gets the node and the
    /// request's number. The responses are in the order of the numbers.
    pub(crate) async fn at_once(
        &self,
        count: usize,
        ask: impl AsyncFn(&Self, usize) -> Response,
    ) -> Vec<Response> {
        let nodes = [self.clone(), self.second_node().await];
        join_all((0..count).map(|number| ask(&nodes[number % 2], number))).await
    }
}

/// Returns how many succeeded; all others were refused with `code`.
pub(crate) fn winners(responses: &[Response], code: &str) -> usize {
    for response in responses.iter().filter(|response| response.status != StatusCode::OK) {
        assert_eq!(response.refusal().1, code, "{}", response.body);
    }
    responses.iter().filter(|response| response.status == StatusCode::OK).count()
}
