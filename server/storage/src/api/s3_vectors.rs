//! Vector buckets: one `POST vector/<Operation>` for each operation, as the interface of S3 Vectors has it. Only the
//! service role may call them, and refusals have their true status.

mod schema;

use std::sync::Arc;

use poem::{Request, Response};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use self::schema::Rule;
pub(crate) use self::schema::Schema;
use super::{body, credentials, json_response};
use crate::context::Context;
use crate::error::Error;
use crate::vector::{
    self, Filter, MAX_DIMENSION, MAX_LISTED, Metric, NewIndex, NewVector, Page, Query, Segment, VectorFields,
};

/// Vectors that one request may write, and keys that one may delete. Source: upstream's limits, also those that follow.
const MAX_WRITTEN: usize = 500;
/// Keys that one request may read.
const MAX_READ: usize = 100;
/// Vectors on one page of a listing, and those where the request does not say how many.
const MAX_PAGE: u64 = 1000;
const DEFAULT_PAGE: u64 = 500;
const MAX_SEGMENTS: u64 = 16;
const MAX_RESULTS: u64 = 100;
const MAX_KEY_LENGTH: usize = 1024;
/// Bytes of a body that writes vectors, and of any other.
const MAX_WRITTEN_LENGTH: usize = 20 << 20;
const MAX_LENGTH: usize = 1 << 20;

/// Requests that write vectors and are read at the same time: each needs several times the memory of its body.
static WRITERS: Semaphore = Semaphore::const_new(4);

const KEY: Rule = Rule::Length(1, MAX_KEY_LENGTH);
static BUCKET: Schema =
    Schema { fields: &[("vectorBucketName", Rule::Text)], required: &["vectorBucketName"], is_closed: false };

static LIST_BUCKETS: Schema = Schema {
    fields: &[("maxResults", Rule::Range(1, MAX_LISTED)), ("nextToken", Rule::Text), ("prefix", Rule::Text)],
    required: &[],
    is_closed: false,
};

static CREATE_INDEX: Schema = Schema {
    fields: &[
        ("dataType", Rule::OneOf(&["float32"])),
        ("dimension", Rule::Integer(1, MAX_DIMENSION as u64)),
        ("distanceMetric", Rule::OneOf(&["cosine", "euclidean"])),
        ("indexName", Rule::IndexName),
        ("metadataConfiguration", Rule::Object(&METADATA_CONFIGURATION)),
        ("vectorBucketName", Rule::Text),
    ],
    required: &["dataType", "dimension", "distanceMetric", "indexName", "vectorBucketName"],
    is_closed: false,
};

static METADATA_CONFIGURATION: Schema = Schema {
    fields: &[("nonFilterableMetadataKeys", Rule::Set(1, 10, &Rule::Length(1, 63)))],
    required: &["nonFilterableMetadataKeys"],
    is_closed: false,
};

static INDEX: Schema = Schema {
    fields: &[("indexName", Rule::IndexName), ("vectorBucketName", Rule::Text)],
    required: &["indexName", "vectorBucketName"],
    is_closed: false,
};

static LIST_INDEXES: Schema = Schema {
    fields: &[
        ("vectorBucketName", Rule::Text),
        ("maxResults", Rule::Range(1, MAX_LISTED)),
        ("nextToken", Rule::Text),
        ("prefix", Rule::Text),
    ],
    required: &["vectorBucketName"],
    is_closed: false,
};

static PUT: Schema = Schema {
    fields: &[
        ("vectorBucketName", Rule::Text),
        ("indexName", Rule::IndexName),
        ("vectors", Rule::List(1, MAX_WRITTEN, &Rule::Object(&VECTOR))),
    ],
    required: &["vectorBucketName", "indexName", "vectors"],
    is_closed: false,
};

static VECTOR: Schema = Schema {
    fields: &[("data", Rule::Object(&DATA)), ("metadata", Rule::Metadata), ("key", KEY)],
    required: &["data", "key"],
    is_closed: false,
};

static DATA: Schema = Schema {
    fields: &[("float32", Rule::List(1, usize::MAX, &Rule::Number))],
    required: &["float32"],
    is_closed: false,
};

static GET: Schema = Schema {
    fields: &[
        ("indexName", Rule::Text),
        ("keys", Rule::List(1, MAX_READ, &KEY)),
        ("returnData", Rule::Boolean),
        ("returnMetadata", Rule::Boolean),
        ("vectorBucketName", Rule::Text),
    ],
    required: &["indexName", "keys", "vectorBucketName"],
    is_closed: false,
};

static DELETE: Schema = Schema {
    fields: &[
        ("vectorBucketName", Rule::Text),
        ("indexName", Rule::Text),
        ("keys", Rule::List(1, MAX_WRITTEN, &KEY)),
    ],
    required: &["vectorBucketName", "indexName", "keys"],
    is_closed: false,
};

static LIST: Schema = Schema {
    fields: &[
        ("vectorBucketName", Rule::Text),
        ("indexArn", Rule::Text),
        ("indexName", Rule::IndexName),
        ("maxResults", Rule::Integer(1, MAX_PAGE)),
        ("nextToken", Rule::Text),
        ("returnData", Rule::Boolean),
        ("returnMetadata", Rule::Boolean),
        ("segmentCount", Rule::Integer(1, MAX_SEGMENTS)),
        ("segmentIndex", Rule::Integer(0, MAX_SEGMENTS - 1)),
    ],
    required: &["vectorBucketName", "indexName"],
    is_closed: false,
};

static QUERY: Schema = Schema {
    fields: &[
        ("filter", Rule::Any),
        ("indexArn", Rule::Text),
        ("indexName", Rule::IndexName),
        ("queryVector", Rule::Object(&QUERY_VECTOR)),
        ("returnDistance", Rule::Boolean),
        ("returnMetadata", Rule::Boolean),
        ("topK", Rule::Integer(1, MAX_RESULTS)),
        ("vectorBucketName", Rule::Text),
    ],
    required: &["vectorBucketName", "indexName", "queryVector", "topK"],
    is_closed: true,
};

static QUERY_VECTOR: Schema = Schema {
    fields: &[("float32", Rule::List(1, usize::MAX, &Rule::Number))],
    required: &["float32"],
    is_closed: true,
};

/// The operations, with the schemas of their bodies.
pub(crate) static OPERATIONS: [(&str, &Schema); 13] = [
    ("CreateVectorBucket", &BUCKET),
    ("GetVectorBucket", &BUCKET),
    ("DeleteVectorBucket", &BUCKET),
    ("ListVectorBuckets", &LIST_BUCKETS),
    ("CreateIndex", &CREATE_INDEX),
    ("GetIndex", &INDEX),
    ("DeleteIndex", &INDEX),
    ("ListIndexes", &LIST_INDEXES),
    ("PutVectors", &PUT),
    ("GetVectors", &GET),
    ("DeleteVectors", &DELETE),
    ("ListVectors", &LIST),
    ("QueryVectors", &QUERY),
];

/// Responds to `POST vector/<operation>`.
pub(crate) async fn respond(
    context: Arc<Context>,
    request: Request,
    (operation, schema): (&'static str, &'static Schema),
) -> Result<Response, Error> {
    Ok(handle(&context, request, operation, schema).await.unwrap_or_else(Error::into_true_response))
}

async fn handle(
    context: &Context,
    mut request: Request,
    operation: &str,
    schema: &'static Schema,
) -> Result<Response, Error> {
    let caller = credentials::required(&context.verifier, &request).map_err(|error| match error {
        Error::InvalidRequest(_) => Error::AccessDenied("Missing signature".to_owned()),
        other => other,
    })?;
    if !caller.is_service() {
        return Err(Error::InvalidRole);
    }
    vector::check_available(&context.vectors).await?;
    let (_permit, max_length) = if operation == "PutVectors" {
        // The semaphore is never closed.
        let permit = WRITERS.acquire().await.map_err(|error| Error::Backend(error.to_string()))?;
        (Some(permit), MAX_WRITTEN_LENGTH)
    } else {
        (None, MAX_LENGTH)
    };
    let body = body::json_up_to(&mut request, false, max_length).await?;
    response_to(context, operation, &check_fields(schema, &body)?).await
}

async fn response_to(context: &Context, operation: &str, fields: &Fields<'_>) -> Result<Response, Error> {
    let bucket = fields.text("vectorBucketName");
    let index = fields.text("indexName");
    let (prefix, after) = (fields.optional("prefix"), fields.optional("nextToken"));
    match operation {
        "CreateVectorBucket" => vector::create_bucket(&context.vectors, bucket).await?,
        "DeleteVectorBucket" => vector::delete_bucket(&context.vectors, bucket).await?,
        "DeleteIndex" => vector::delete_index(&context.vectors, bucket, index).await?,
        "CreateIndex" => create_index(context, fields).await?,
        "PutVectors" => put(context, fields).await?,
        "DeleteVectors" => vector::delete(&context.vectors, bucket, index, &fields.keys()).await?,
        "GetVectorBucket" => {
            let bucket = vector::get_bucket(&context.vectors, bucket).await?;
            return Ok(json_response(json!({ "vectorBucket": bucket }).to_string()));
        }
        "ListVectorBuckets" => {
            let limit = fields.number("maxResults", MAX_LISTED);
            return Ok(json_response(
                vector::list_buckets(&context.vectors, prefix, after, limit).await?.to_string(),
            ));
        }
        "GetIndex" => {
            let index = vector::get_index(&context.vectors, bucket, index).await?;
            return Ok(json_response(json!({ "index": index }).to_string()));
        }
        "ListIndexes" => {
            let limit = fields.number("maxResults", MAX_LISTED);
            let page = vector::list_indexes(&context.vectors, bucket, prefix, after, limit).await?;
            return Ok(json_response(page.to_string()));
        }
        "GetVectors" => {
            return vector::get(&context.vectors, bucket, index, &fields.keys(), fields.parts())
                .await
                .map(json_response);
        }
        "ListVectors" => return list(context, fields).await.map(json_response),
        "QueryVectors" => return query(context, fields).await.map(json_response),
        _ => return Err(Error::NoSuchRoute(operation.to_owned())),
    }
    // As upstream, the response to a change has no body.
    Ok(Response::default())
}

async fn create_index(context: &Context, fields: &Fields<'_>) -> Result<(), Error> {
    let metric =
        Metric::of_name(fields.text("distanceMetric")).ok_or(Error::InvalidParameter("distanceMetric"))?;
    let new = NewIndex {
        bucket: fields.text("vectorBucketName"),
        name: fields.text("indexName"),
        dimension: fields.number("dimension", 0) as usize,
        metric,
        configuration: fields.0.get("metadataConfiguration"),
    };
    vector::create_index(&context.vectors, &new).await
}

async fn put(context: &Context, fields: &Fields<'_>) -> Result<(), Error> {
    let vectors = fields.0["vectors"].as_array().map_or(&[][..], Vec::as_slice);
    let vectors: Vec<NewVector<'_>> = vectors
        .iter()
        .map(|vector| NewVector {
            key: vector["key"].as_str().unwrap_or_default(),
            numbers: vector["data"]["float32"].as_array().map_or(&[], Vec::as_slice),
            metadata: vector["metadata"].as_object(),
        })
        .collect();
    vector::put(&context.vectors, fields.text("vectorBucketName"), fields.text("indexName"), &vectors).await
}

async fn list(context: &Context, fields: &Fields<'_>) -> Result<String, Error> {
    let number = |name: &str| fields.0.get(name).map(|_| fields.number(name, 0));
    let segment = match (number("segmentCount"), number("segmentIndex")) {
        (None, None) => None,
        (Some(count), Some(index)) if index < count => Some(Segment { count, index }),
        (Some(_), Some(_)) => {
            return Err(Error::InvalidValue("segmentIndex must be less than segmentCount".to_owned()));
        }
        _ => {
            let reason = "segmentCount and segmentIndex must be provided together";
            return Err(Error::InvalidValue(reason.to_owned()));
        }
    };
    let limit = fields.number("maxResults", DEFAULT_PAGE);
    let page = Page { limit, after: fields.optional("nextToken"), segment };
    let (bucket, index) = (fields.text("vectorBucketName"), fields.text("indexName"));
    vector::list(&context.vectors, bucket, index, &page, fields.parts()).await
}

async fn query(context: &Context, fields: &Fields<'_>) -> Result<String, Error> {
    let filter = fields.0.get("filter").map(Filter::parse).transpose()?;
    let query = Query {
        numbers: fields.0["queryVector"]["float32"].as_array().map_or(&[], Vec::as_slice),
        count: fields.number("topK", 0),
        filter: filter.as_ref(),
        returns_distance: fields.flag("returnDistance"),
        returns_metadata: fields.flag("returnMetadata"),
    };
    vector::query(&context.vectors, fields.text("vectorBucketName"), fields.text("indexName"), &query).await
}

/// The fields of a body that has been checked against its schema.
struct Fields<'a>(&'a Value);

/// Checks `body`.
///
/// Errors: [`Error::InvalidRequest`]; [`Error::InvalidValue`] for names that Postgres cannot store as text.
fn check_fields<'a>(schema: &'static Schema, body: &'a Value) -> Result<Fields<'a>, Error> {
    schema.check(body).map_err(Error::InvalidRequest)?;
    for name in ["vectorBucketName", "indexName", "prefix", "nextToken"] {
        if body[name].as_str().is_some_and(|text| text.contains('\0')) {
            return Err(Error::InvalidValue(format!("Invalid Parameter {name}")));
        }
    }
    Ok(Fields(body))
}

impl<'a> Fields<'a> {
    fn text(&self, name: &str) -> &'a str {
        self.optional(name).unwrap_or_default()
    }

    fn optional(&self, name: &str) -> Option<&'a str> {
        self.0[name].as_str()
    }

    /// Returns the integer part of a number.
    fn number(&self, name: &str, default: u64) -> u64 {
        self.0[name].as_f64().map_or(default, |number| number as u64)
    }

    fn flag(&self, name: &str) -> bool {
        self.0[name] == Value::Bool(true)
    }

    fn keys(&self) -> Vec<&'a str> {
        self.0["keys"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    fn parts(&self) -> VectorFields {
        VectorFields { data: self.flag("returnData"), metadata: self.flag("returnMetadata") }
    }
}
