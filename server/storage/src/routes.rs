//! The table of routes: what the service responds to, family by family.
//!
//! Paths are matched before they are decoded, since decoding would mix slashes of an object's name with those between
//! parts of the path. As upstream, each method has its own routes: `GET object/list/x` reads object `x` of bucket
//! `list`. In traces a request has the name of its row.

use std::sync::Arc;

use futures_util::future::{Either, ready};
use poem::http::{Method, Uri};
use poem::{Endpoint, EndpointExt as _, PathPattern, Request, Response, Route, RouteMethod, endpoint};

use crate::api::{
    self, Received, bucket, object, origin, pictures, read, rest, s3_vectors, sign, tus, unknown, write,
};
use crate::context::Context;
use crate::error::Error;
use crate::settings::Settings;
use crate::{key, response, s3};

/// Returns the routes of all methods.
fn table(to: &Arc<Context>) -> Route {
    let reads = Arc::new(reads(to));
    let methods = RouteMethod::new()
        .get(Arc::clone(&reads))
        .head(reads)
        .post(posts(to))
        .put(puts(to))
        .delete(deletes(to));
    let table = Route::new()
        .at("/upload/resumable", tus::uploads(to, false))
        .at("/upload/resumable/*path", tus::upload(to, false))
        .at("/upload/resumable/sign", tus::uploads(to, true))
        .at("/upload/resumable/sign/*path", tus::upload(to, true));
    let table = if to.settings.s3_enabled { table.below("/s3", s3(to)) } else { table };
    table.at("/*path", methods.before(begin_again))
}

/// Makes the next table's row the whole name of the route.
async fn begin_again(mut request: Request) -> poem::Result<Request> {
    request.set_data(PathPattern("".into()));
    Ok(request)
}

/// Returns the routes of GET and HEAD.
fn reads(to: &Arc<Context>) -> Route {
    Route::new()
        .with_slash("/status", handler(to, api::status))
        .with_slash("/version", handler(to, api::version))
        .with_slash("/bucket", handler(to, bucket::list))
        .with_slash("/bucket/:id", handler(to, bucket::get))
        .at("/bucket/:id/lifecycle", handler(to, bucket::get_lifecycle))
        .at("/object", handler(to, read::optional))
        .at("/object/*path", open(to, origin::redirect_without_token, read::optional))
        .below("/object/public", open(to, origin::redirect, read::public))
        .below("/object/authenticated", handler(to, read::authenticated))
        .below("/object/sign", open(to, origin::redirect, sign::read))
        .below("/object/info", handler(to, read::optional_info))
        .at("/object/info/public/*path", handler(to, read::public_info))
        .at("/object/info/authenticated/*path", handler(to, read::authenticated_info))
        .at("/render/image/public/*path", open(to, origin::redirect, pictures::public))
        .at("/render/image/authenticated/*path", handler(to, pictures::authenticated))
        .at("/render/image/sign/*path", open(to, origin::redirect, pictures::signed))
}

/// Returns the routes of POST.
fn posts(to: &Arc<Context>) -> Route {
    let mut table = Route::new()
        .with_slash("/bucket", handler(to, bucket::create))
        .at("/bucket/:id/empty", handler(to, bucket::empty))
        .below("/object", handler(to, write::object))
        .with_slash("/object/move", handler(to, object::move_object))
        .with_slash("/object/copy", handler(to, object::copy_object))
        .below("/object/list", handler(to, object::list_folder))
        .below("/object/list-v2", handler(to, object::list_prefix))
        .below("/object/sign", handler(to, sign::download))
        .at("/object/upload/sign/*path", handler(to, sign::upload));
    if to.settings.vectors_enabled {
        for operation in s3_vectors::OPERATIONS {
            let respond = move |context, request| s3_vectors::respond(context, request, operation);
            table = table.at(format!("/vector/{}", operation.0), handler(to, respond));
        }
    }
    table
}

/// Returns the routes of PUT.
fn puts(to: &Arc<Context>) -> Route {
    Route::new()
        .with_slash("/bucket/:id", handler(to, bucket::update))
        .at("/bucket/:id/lifecycle", handler(to, bucket::put_lifecycle))
        .below("/object", handler(to, write::object))
        .at("/object/upload/sign/*path", handler(to, write::signed))
}

/// Returns the routes of DELETE.
fn deletes(to: &Arc<Context>) -> Route {
    Route::new()
        .with_slash("/bucket/:id", handler(to, bucket::delete))
        .at("/bucket/:id/lifecycle", handler(to, bucket::delete_lifecycle))
        .with_slash("/object", handler(to, object::remove_many))
        .at("/object/:bucket", handler(to, object::remove_many))
        .at("/object/:bucket/*path", handler(to, object::remove))
        .below("/cdn", handler(to, api::purge))
}

/// Returns the endpoint of the service.
pub(crate) fn endpoint(context: Arc<Context>) -> impl Endpoint<Output = Response> + use<> {
    let table = Arc::new(table(&context));
    endpoint::make(move |request: Request| {
        let (context, table) = (Arc::clone(&context), Arc::clone(&table));
        async move {
            let (method, address) = (request.method().clone(), request.uri().clone());
            // An origin of their own serves objects; this one only those that need a token.
            let is_elsewhere = origin::is_elsewhere(&context.settings, &request);
            let response = table.call(without_idle_slashes(request)).await;
            let mut response = response.unwrap_or_else(|_| refusal(&method, &address).into_response());
            response::confine(response.headers_mut(), is_elsewhere);
            if method == Method::HEAD {
                // The header of its length stays, as a response to HEAD has it.
                response.set_body(());
            }
            response
        }
    })
}

/// Returns the refusal of a request for which there is no route. The id of a bucket is read first.
fn refusal(method: &Method, address: &Uri) -> Error {
    let bucket = address.path().trim_start_matches('/').strip_prefix("bucket/");
    let id = bucket.and_then(|rest| rest.split('/').next()).unwrap_or_default();
    key::decode(id).err().unwrap_or_else(|| unknown(method, address))
}

/// Takes slashes out of the path that count for nothing: further ones at the beginning, after `bucket/`, and below
/// `upload/resumable`. The handler gets the request as it was received.
fn without_idle_slashes(mut request: Request) -> Request {
    let path = request.uri().path();
    let trimmed = path.trim_start_matches('/');
    let uploads = trimmed.strip_prefix("upload/resumable").filter(|rest| rest.starts_with('/'));
    let matched = match uploads {
        Some(rest) => {
            let parts = rest.split('/').filter(|part| !part.is_empty());
            parts.fold("/upload/resumable".to_owned(), |path, part| path + "/" + part)
        }
        None if trimmed == "bucket//" => "/bucket".to_owned(),
        None if path.starts_with("//") => format!("/{trimmed}"),
        None => return request,
    };
    // A part of a valid path is one, too.
    if let Ok(matched) = matched.parse() {
        let received = std::mem::replace(request.uri_mut(), matched);
        request.set_data(Received(received));
    }
    request
}

/// Rows for several paths.
trait Paths {
    /// Adds `path` and everything below it.
    fn below(self, path: &str, endpoint: impl Endpoint<Output = Response> + 'static) -> Self;

    /// Adds `path`, also with a slash at its end.
    fn with_slash(self, path: &str, endpoint: impl Endpoint<Output = Response> + 'static) -> Self;
}

impl Paths for Route {
    fn below(self, path: &str, endpoint: impl Endpoint<Output = Response> + 'static) -> Self {
        let endpoint = Arc::new(endpoint);
        self.at(path, Arc::clone(&endpoint)).at(format!("{path}/*path"), endpoint)
    }

    fn with_slash(self, path: &str, endpoint: impl Endpoint<Output = Response> + 'static) -> Self {
        let endpoint = Arc::new(endpoint);
        self.at(path, Arc::clone(&endpoint)).at(format!("{path}/"), endpoint)
    }
}

/// Returns the endpoint of a handler.
fn handler<F, A>(context: &Arc<Context>, respond: F) -> impl Endpoint<Output = Response> + use<F, A>
where
    F: Fn(Arc<Context>, Request) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Response, Error>> + Send + 'static,
{
    let context = Arc::clone(context);
    endpoint::make(move |request| {
        let response = respond(Arc::clone(&context), api::as_received(request));
        async move { response.await.unwrap_or_else(Error::into_response) }
    })
}

/// Returns the endpoint of a handler of objects that anybody may open as pages, unless `redirect` sends them to the
/// origin of objects.
fn open<F, A>(
    context: &Arc<Context>,
    redirect: fn(&Settings, &Request) -> Option<Response>,
    respond: F,
) -> impl Endpoint<Output = Response> + use<F, A>
where
    F: Fn(Arc<Context>, Request) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Response, Error>> + Send + 'static,
{
    handler(context, move |context, request| match redirect(&context.settings, &request) {
        Some(redirect) => Either::Left(ready(Ok(redirect))),
        None => Either::Right(respond(context, request)),
    })
}

/// Returns the endpoint of the S3 protocol, which finds its operations itself.
fn s3(context: &Arc<Context>) -> impl Endpoint<Output = Response> + use<> {
    let service = s3::service(Arc::clone(context));
    handler(context, move |context, request| {
        let service = service.clone();
        async move {
            let path = rest(&request).to_owned();
            Ok(s3::route(&context, &service, request, &path).await)
        }
    })
}
