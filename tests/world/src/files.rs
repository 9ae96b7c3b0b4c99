//! Files: programs prepare, upload, attach and download them.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::media::{MediaState, Uploaded};
use domain::{FileType, Media, MediaDigest, MediaId};
use futures::future::join_all;
use harness::{Answer, TestClock};
use serde_json::{Value, json};
use store::Bucket;

use crate::ledger::File;
use crate::simulation::Simulation;
use crate::tenant::Tenant;

/// The files that programs prepare. A voice takes no caption.
const KINDS: [(&str, FileType, &str); 3] = [
    ("picture.png", FileType::Image, "image/png"),
    ("plan.pdf", FileType::Document, "application/pdf"),
    ("voice.ogg", FileType::Audio, "audio/ogg"),
];

impl Simulation {
    /// Sends a message with new files, and sometimes with one that others refer to or that is another tenant's.
    pub(crate) async fn attaches(&self, tenant: &Tenant) {
        let Some(conversation) = self.some_conversation(tenant) else { return };
        let mut files = self.uploads(tenant, false).await;
        for (of, likely) in [(tenant, 300), (self.other(tenant), 150)] {
            let known = self.some_file(of).filter(|file| !files.contains(file));
            files.extend(known.filter(|_| self.random.happens(likely)));
        }
        if !files.is_empty() {
            self.attach(tenant, &conversation, &files).await;
        }
    }

    /// Several messages refer to new files at the same moment.
    pub(crate) async fn all_attach_one(&self, tenant: &Tenant) {
        let Some(conversation) = self.some_conversation(tenant) else { return };
        let files = self.uploads(tenant, false).await;
        if !files.is_empty() {
            join_all((0..self.several()).map(|_| self.attach(tenant, &conversation, &files))).await;
        }
    }

    /// Several requests with one idempotency key prepare the same files.
    pub(crate) async fn all_prepare_one(&self, tenant: &Tenant) {
        let (files, body) = self.preparing();
        let event = self.keyed(tenant.event("files-create.json").body(&body));
        let answers = self.all("files", vec![event; self.several()], true).await;
        self.is_one(&answers);
        for answer in answers {
            self.is_prepared(tenant, &files, &answer);
        }
    }

    /// Downloads a file, and tries to download another tenant's.
    pub(crate) async fn downloads(&self, tenant: &Tenant) {
        if let Some(file) = self.some_file(tenant) {
            self.is_downloaded(tenant, &file).await;
        }
        if let Some(foreign) = self.some_file(self.other(tenant)) {
            self.is_downloaded(tenant, &foreign).await;
        }
    }

    /// A tenant gets a file exactly if it is its own and was uploaded as declared.
    async fn is_downloaded(&self, tenant: &Tenant, id: &str) {
        let file = || tenant.ledger.borrow().files.get(id).filter(|file| file.is_there()).cloned();
        let before = file();
        let event = tenant.event("files-get.json").path("mediaId", id);
        let Some(answer) = self.persists("files", event, false).await else { return };
        let is_right = match (answer.status, file()) {
            (200, Some(file)) => {
                let of = format!("/{}/{id}?", tenant.workspace);
                answer.json["sizeBytes"] == file.size
                    && answer.json["checksumBase64"] == file.digest.as_str()
                    && answer.json["url"].as_str().is_some_and(|url| url.contains(&of))
            }
            (404, _) => before.is_none(),
            _ => false,
        };
        if !is_right {
            self.breaks(format!("tenant {} downloads {id}, {before:?}: {}", tenant.number, answer.text));
        }
    }

    /// Sends a message with these files. It is accepted if all of them are the tenant's and were uploaded. Returns its
    /// text.
    pub(crate) async fn attach(&self, tenant: &Tenant, conversation: &str, files: &[String]) -> String {
        let (text, mut body) = self.saying(tenant, conversation);
        body["mediaIds"] = json!(files);
        let are_there = || {
            let ledger = tenant.ledger.borrow();
            files.iter().all(|file| ledger.files.get(file).is_some_and(File::is_there))
        };
        let before = are_there();
        {
            let mut ledger = tenant.ledger.borrow_mut();
            ledger.posted.insert(text.clone(), 1);
            ledger.attached.insert(text.clone(), files.to_vec());
        }
        let event = self.keyed(tenant.event("messages-create.json").body(&body));
        let Some(answer) = self.persists("messages", event, true).await else { return text };
        match answer.status {
            422 if !before => {}
            201 if !are_there() => {
                self.breaks(format!("a message refers to files that are not there: {body}"))
            }
            _ => self.is_said(tenant, text.clone(), conversation, &answer),
        }
        text
    }

    /// One of the files that a tenant prepared.
    fn some_file(&self, tenant: &Tenant) -> Option<String> {
        let ledger = tenant.ledger.borrow();
        let files = ledger.files.iter().filter(|(_, file)| !file.is_private);
        let files: Vec<String> = files.map(|(id, _)| id.clone()).collect();
        (!files.is_empty()).then(|| self.random.one_of(&files).clone())
    }

    /// Prepares files and uploads most of them. Returns their ids.
    pub(crate) async fn uploads(&self, tenant: &Tenant, is_private: bool) -> Vec<String> {
        let (mut files, body) = self.preparing();
        files.iter_mut().for_each(|file| file.is_private = is_private);
        let event = self.keyed(tenant.event("files-create.json").body(&body));
        let Some(answer) = self.persists("files", event, true).await else { return vec![] };
        self.is_prepared(tenant, &files, &answer);
        let mut ids = vec![];
        for upload in answer.json.as_array().into_iter().flatten() {
            let id = upload["mediaId"].as_str().unwrap_or_default();
            self.put(tenant, id, upload["presignUrl"]["url"].as_str().unwrap_or_default()).await;
            ids.push(id.to_owned());
        }
        ids
    }

    /// One or two files, and the request that prepares them. It does not declare a size that is over the limit.
    fn preparing(&self) -> (Vec<File>, Value) {
        let one = |_| {
            let (name, file_type, content_type) = *self.random.one_of(&KINDS);
            let is_too_large = self.random.happens(120);
            let most = file_type.max_bytes();
            let size = if is_too_large { most + 1 } else { self.random.within(1, most) };
            let digest = STANDARD.encode([(); 4].map(|()| self.random.next().to_be_bytes()).concat());
            let mut item = json!({
                "name": name, "fileType": file_type.as_str(), "contentType": content_type,
                "checksumBase64": digest,
            });
            if !is_too_large && self.random.happens(500) {
                item["contentLength"] = json!(size);
            }
            (File { size, most, digest, is_uploaded: false, is_private: false }, item)
        };
        let (files, items): (Vec<File>, Vec<Value>) = (0..self.random.within(1, 2)).map(one).unzip();
        (files, json!(items))
    }

    fn is_prepared(&self, tenant: &Tenant, files: &[File], answer: &Answer) {
        let uploads = answer.json.as_array().cloned().unwrap_or_default();
        if answer.status != 201 || uploads.len() != files.len() {
            return self.breaks(format!("files are refused: {}", answer.text));
        }
        let mut ledger = tenant.ledger.borrow_mut();
        for (file, upload) in files.iter().zip(uploads) {
            let id = upload["mediaId"].as_str().unwrap_or_default().to_owned();
            ledger.files.entry(id).or_insert_with(|| file.clone());
        }
    }

    /// Uploads a file to its signed URL, or does not. The bucket tells of each upload.
    async fn put(&self, tenant: &Tenant, id: &str, url: &str) {
        self.pause().await;
        let Some(file) = tenant.ledger.borrow().files.get(id).cloned() else { return };
        let path = url.split('?').next().unwrap_or_default();
        let key = path.split_once(".amazonaws.com/").map_or("", |(_, key)| key);
        let named = Bucket::file_of(key);
        let Some((workspace, media)) =
            named.filter(|(of, media)| (*of, media.to_string().as_str()) == (tenant.workspace, id))
        else {
            return self.breaks(format!("not the URL of {id} of tenant {}: {url}", tenant.number));
        };
        if self.random.happens(120) {
            return;
        }
        // The answer to an upload may be lost: then the program repeats it.
        for _ in 0..1 + u32::from(self.faults.strikes(self.faults.levels.fault)) {
            let digest = MediaDigest::parse(&file.digest).ok();
            self.bucket.put(workspace, media, Uploaded { size: file.size, digest });
            self.tell_of_upload(key, file.size);
        }
        if let Some(file) = tenant.ledger.borrow_mut().files.get_mut(id) {
            file.is_uploaded = true;
        }
    }

    /// Every file that was prepared is there: with its bytes and, if a message refers to it, as long as the message, or
    /// refused and without its bytes. A file without a message may have expired.
    pub(crate) async fn check_files(&self, tenant: &Tenant) {
        let ledger = tenant.ledger.borrow().clone();
        let accepted = ledger.attached.iter().filter(|(text, _)| ledger.messages.contains_key(*text));
        let referenced: BTreeSet<&String> = accepted.flat_map(|(_, files)| files).collect();
        for (id, file) in &ledger.files {
            let media = MediaId::parse(id).expect("an id");
            let found = self.world.db.store().media_of(tenant.workspace, media).await.ok().flatten();
            // No message took the file in time. Few worlds last that long.
            let is_old = self.now().since(TestClock::START) > Media::KEPT;
            if is_old && found.is_none() && !referenced.contains(id) {
                continue;
            }
            let holds = self.bucket.holds(tenant.workspace, media);
            let is_right = found.as_ref().is_some_and(|found| match found.state {
                MediaState::TooLarge => file.is_uploaded && file.size > file.most && !holds,
                MediaState::Empty => file.is_uploaded && file.size == 0 && !holds,
                MediaState::Referenced => file.is_there() && holds && found.size == Some(file.size),
                MediaState::Waiting => {
                    holds == file.is_there() && holds == file.is_uploaded && !referenced.contains(id)
                }
            });
            if !is_right {
                self.breaks(format!("file {id}, {file:?}, is {found:?}, held: {holds}"));
            }
            self.is_downloaded(tenant, id).await;
            self.is_downloaded(self.other(tenant), id).await;
        }
    }
}

/// The text of an answer without the signatures of its URLs, which are new in each answer.
pub(crate) fn unsigned(answer: &Answer) -> String {
    let mut pieces = answer.text.split("?x-id=");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + &piece[piece.find('"').unwrap_or(piece.len())..])
}
