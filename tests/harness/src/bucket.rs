//! S3 for one test: a real client whose requests are answered from memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_credential_types::Credentials;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{BehaviorVersion, Region, StalledStreamProtectionConfig};
use aws_sdk_s3::primitives::ByteStream;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use domain::media::{MediaHash, Uploaded};
use domain::{Clock, Media, MediaId, WorkspaceId};
use serde_json::json;
use store::Bucket;

use crate::TestDb;
use crate::fault::Fault;
use crate::rights::Rights;
use crate::simulated::EvenPauses;
use crate::wire::Wire;

/// A media bucket for one test. It needs no server and keeps its objects in memory. The wire of the database counts,
/// holds and fails its calls (`HeadObject`, `DeleteObject`, ...) too: see [`TestDb::calls`], [`TestDb::hold`] and
/// [`TestDb::fail`].
#[derive(Clone)]
pub struct TestBucket {
    bucket: Bucket,
    behind: Behind,
}

/// The HTTP connector behind the client: it answers each request from `objects`.
#[derive(Clone, Debug)]
struct Behind {
    wire: Wire,
    objects: Arc<Mutex<BTreeMap<String, Uploaded>>>,
    /// The bytes of objects by key and version, the newest last, for the tests that read or erase them.
    versions: Arc<Mutex<BTreeMap<String, Vec<Vec<u8>>>>>,
    /// The content types of the objects that calls stored.
    types: Arc<Mutex<BTreeMap<String, String>>>,
    rights: Option<Arc<Rights>>,
}

impl TestBucket {
    /// The bucket's name.
    pub const NAME: &str = "media-bucket";
    /// The bucket's region.
    pub const REGION: &str = "eu-central-1";
    /// The access key id that signs the bucket's URLs.
    pub const ACCESS_KEY: &str = "AKIDEXAMPLE";
    /// The secret key that signs the bucket's URLs.
    pub const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

    /// Creates an empty bucket that shares the wire and the clock of `db`.
    pub fn beside(db: &TestDb) -> Self {
        let behind = Behind {
            wire: db.wire().clone(),
            objects: Arc::default(),
            versions: Arc::default(),
            types: Arc::default(),
            rights: None,
        };
        Self { bucket: behind.bucket(db, db.clock().clone()), behind }
    }

    /// The bucket, without a check of rights.
    pub fn bucket(&self) -> Bucket {
        self.bucket.clone()
    }

    /// The bucket with the rights of the given function: a call that its role in `template.yaml` does not allow fails
    /// the test.
    pub fn bucket_of(&self, db: &TestDb, function: &str) -> Bucket {
        self.bucket_with(db, function, db.clock().clone())
    }

    /// The bucket with the rights of the given function, and with a clock of its own.
    pub fn bucket_with(&self, db: &TestDb, function: &str, clock: Arc<dyn Clock>) -> Bucket {
        Behind { rights: Some(Rights::of(function)), ..self.behind.clone() }.bucket(db, clock)
    }

    /// Uploads a file of `size` bytes with the declared digest.
    pub fn upload(&self, media: &Media, size: u64) {
        let uploaded = Uploaded { size, digest: Some(media.digest.clone()) };
        self.put(media.workspace_id, media.id, uploaded);
    }

    /// Puts an object under the key of a file, whatever was declared.
    pub fn put(&self, workspace: WorkspaceId, media: MediaId, uploaded: Uploaded) {
        self.behind.objects().insert(format!("{workspace}/{media}"), uploaded);
    }

    /// Uploads these bytes as a further version of a file, as to a bucket with versions.
    pub fn put_bytes(&self, media: &Media, bytes: &[u8]) {
        self.upload(media, bytes.len() as u64);
        let key = format!("{}/{}", media.workspace_id, media.id);
        self.behind.versions().entry(key).or_default().push(bytes.to_vec());
    }

    /// The bytes of all versions of all objects.
    pub fn all_bytes(&self) -> Vec<Vec<u8>> {
        self.behind.versions().values().flatten().cloned().collect()
    }

    /// The content type with which the service stored a file.
    pub fn content_type(&self, workspace: WorkspaceId, media: MediaId) -> Option<String> {
        self.behind.types().get(&format!("{workspace}/{media}")).cloned()
    }

    /// Whether an object exists under the key of a file.
    pub fn holds(&self, workspace: WorkspaceId, media: MediaId) -> bool {
        self.behind.objects().contains_key(&format!("{workspace}/{media}"))
    }
}

/// The settings of a client of S3 whose requests this connector answers.
pub(crate) fn s3_over(connector: impl HttpConnector + 'static) -> aws_sdk_s3::config::Builder {
    let connector = SharedHttpConnector::new(connector);
    let credentials = Credentials::new(TestBucket::ACCESS_KEY, TestBucket::SECRET_KEY, None, None, "tests");
    aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(TestBucket::REGION))
        .credentials_provider(credentials)
        .http_client(http_client_fn(move |_, _| connector.clone()))
}

impl Behind {
    fn bucket(&self, db: &TestDb, clock: Arc<dyn Clock>) -> Bucket {
        let backoff = std::time::Duration::from_millis(1);
        let config = s3_over(self.clone())
            .retry_config(RetryConfig::standard().with_max_attempts(3).with_initial_backoff(backoff));
        let config = match db.is_simulated() {
            true => {
                let streams = StalledStreamProtectionConfig::disabled();
                config.sleep_impl(EvenPauses).stalled_stream_protection(streams)
            }
            false => config,
        };
        Bucket::new(Client::from_conf(config.build()), TestBucket::NAME, clock)
    }

    fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Uploaded>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn versions(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Vec<u8>>>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the bytes of a call in place of those before, if they have the digest that the call names.
    fn put(&self, object: String, bytes: Vec<u8>, digest: Option<String>, content_type: String) -> bool {
        let mut hash = MediaHash::default();
        hash.add(&bytes);
        let own = hash.digest();
        if digest.is_some_and(|digest| digest != own.as_str()) {
            return false;
        }
        let uploaded = Uploaded { size: bytes.len() as u64, digest: Some(own) };
        self.objects().insert(object.clone(), uploaded);
        self.types().insert(object.clone(), content_type);
        self.versions().insert(object, vec![bytes]);
        true
    }

    fn types(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.types.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The versions of an object; their ids are their numbers.
    fn list(&self, object: &str) -> HttpResponse {
        let count = self.versions().get(object).map_or(0, Vec::len);
        let count = if self.objects().contains_key(object) { count.max(1) } else { count };
        let version = |at| format!("<Version><Key>{object}</Key><VersionId>{at}</VersionId></Version>");
        let versions: String = (0..count).map(version).collect();
        let xml =
            format!("<ListVersionsResult><IsTruncated>false</IsTruncated>{versions}</ListVersionsResult>");
        with_body(xml.into_bytes())
    }

    fn delete_version(&self, object: &str) -> HttpResponse {
        let mut versions = self.versions();
        if let Some(left) = versions.get_mut(object) {
            left.pop();
        }
        if versions.get(object).is_none_or(Vec::is_empty) {
            versions.remove(object);
            self.objects().remove(object);
        }
        empty(204)
    }

    fn answer(&self, operation: &str, object: &str, with_checksum: bool) -> HttpResponse {
        match operation {
            "ListObjectVersions" => return self.list(object),
            "DeleteObjectVersion" => return self.delete_version(object),
            "GetObject" => {
                let newest = self.versions().get(object).and_then(|versions| versions.last().cloned());
                // Of an object that was put without bytes only the size is known.
                let is_known = self.objects().contains_key(object);
                return newest.or_else(|| is_known.then(Vec::new)).map_or_else(no_such_key, with_body);
            }
            _ => {}
        }
        if operation == "PutObject" {
            return empty(200);
        }
        if operation == "DeleteObject" {
            self.objects().remove(object);
            return empty(204);
        }
        let Some(found) = self.objects().get(object).cloned() else { return empty(404) };
        let mut answer = empty(200);
        answer.headers_mut().insert("content-length", found.size.to_string());
        if let Some(digest) = found.digest.filter(|_| with_checksum) {
            answer.headers_mut().insert("x-amz-checksum-sha256", digest.as_str().to_owned());
        }
        answer
    }
}

impl HttpConnector for Behind {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (path, query) = request.uri().split_once('?').unwrap_or((request.uri(), ""));
        let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name));
        let listed = parameter("prefix=").map(|prefix| prefix.replace("%2F", "/"));
        let operation = match request.method() {
            "GET" if listed.is_some() => "ListObjectVersions",
            "GET" => "GetObject",
            "HEAD" => "HeadObject",
            "DELETE" if parameter("versionId=").is_some() => "DeleteObjectVersion",
            "DELETE" => "DeleteObject",
            "PUT" => "PutObject",
            method => panic!("the service sends no {method} request to a bucket"),
        };
        let bucket = format!("https://{}.s3.{}.amazonaws.com/", TestBucket::NAME, TestBucket::REGION);
        let Some(object) = path.strip_prefix(&bucket) else { panic!("{path} is not a URL of the bucket") };
        let object = listed.unwrap_or_else(|| object.to_owned());
        if let Some(rights) = &self.rights {
            rights.check_bucket(operation);
        }
        let with_checksum = request.headers().get("x-amz-checksum-mode") == Some("ENABLED");
        let (number, fault) = self.wire.begin(operation, &json!({ "TableName": TestBucket::NAME }));
        let held = self.wire.held(operation);
        let turn = self.wire.turn(operation, &json!({ "TableName": TestBucket::NAME, "Key": object }));
        let behind = self.clone();
        let digest = request.headers().get("x-amz-checksum-sha256").map(str::to_owned);
        let content_type = request.headers().get("content-type").unwrap_or_default().to_owned();
        let body = request.into_body();
        HttpConnectorFuture::new(async move {
            // Yield once, so that calls that start together overlap, as they do over a network.
            tokio::task::yield_now().await;
            let (fault, after) = match turn {
                Some(turn) => {
                    turn.before.await;
                    (turn.fault.filter(|fault| fault.is_of_every_service()), Some(turn.after))
                }
                None => (fault, None),
            };
            if let Some(released) = held {
                let _ = released.await;
            }
            if operation == "PutObject" && matches!(fault, None | Some(Fault::AnswerLost)) {
                let bytes = ByteStream::new(body).collect().await;
                let bytes = bytes.map_err(|error| ConnectorError::io(error.into()))?.to_vec();
                if !behind.put(object.clone(), bytes, digest, content_type) {
                    return Ok(empty(400));
                }
            }
            let answer = match fault {
                None => Ok(behind.answer(operation, &object, with_checksum)),
                Some(Fault::Throttled) => Ok(empty(503)),
                Some(Fault::Unreachable) => Err(ConnectorError::io("connection refused".into())),
                Some(Fault::AnswerLost) => {
                    behind.answer(operation, &object, with_checksum);
                    Err(ConnectorError::timeout("no answer in time".into()))
                }
                Some(fault) => panic!("{fault:?} is not a fault of a bucket"),
            };
            if let Some(after) = after {
                after(&format!("{:?}", answer.as_ref().map(HttpResponse::status))).await;
            }
            behind.wire.end(number, 0.0);
            answer
        })
    }
}

fn with_body(bytes: Vec<u8>) -> HttpResponse {
    let mut answer = empty(200);
    *answer.body_mut() = SdkBody::from(bytes);
    answer
}

/// The answer to a read of an object that does not exist. Clients know the fault by its code, not by the status.
fn no_such_key() -> HttpResponse {
    let mut answer = empty(404);
    *answer.body_mut() = SdkBody::from("<Error><Code>NoSuchKey</Code></Error>");
    answer
}

fn empty(status: u16) -> HttpResponse {
    let status = StatusCode::try_from(status).unwrap_or_else(|_| unreachable!("every status here is valid"));
    HttpResponse::new(status, SdkBody::empty())
}
