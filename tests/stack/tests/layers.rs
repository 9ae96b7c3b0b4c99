//! Which package may depend on which. A new dependency between packages shows as a diff of the list below.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Each package and the workspace packages that it depends on (except for tests), layer by layer. A package may depend
/// only on packages of lower layers.
const LAYERS: &[&[(&str, &[&str])]] = &[
    &[("domain", &[]), ("reference", &[])],
    &[("outbound", &["domain"])],
    &[("provider", &["domain", "outbound"]), ("queue", &["domain"]), ("store", &["domain"])],
    &[("admin", &["domain", "queue", "store"]), ("runtime", &["domain", "store"])],
    &[("edge", &["admin", "domain", "runtime", "store"]), ("worker", &["domain", "queue", "store"])],
    &[
        ("access", &["domain", "edge", "runtime", "store"]),
        ("attributes", &["admin", "domain", "edge", "runtime"]),
        ("contacts", &["domain", "edge", "runtime", "store"]),
        ("conversations", &["domain", "edge", "runtime", "store"]),
        ("deliveries", &["admin", "domain", "edge", "queue", "runtime", "store"]),
        ("endpoints", &["admin", "domain", "edge", "queue", "runtime", "store"]),
        ("event-relay", &["domain", "edge", "queue", "runtime", "store"]),
        ("files", &["domain", "edge", "runtime", "store"]),
        ("inbox", &["domain", "provider", "queue", "runtime", "store"]),
        ("lead-records", &["admin", "domain", "edge", "queue", "runtime", "store"]),
        ("leads", &["domain", "edge", "outbound", "runtime", "store"]),
        ("lead-sender", &["domain", "queue", "runtime", "store", "worker"]),
        ("messages", &["domain", "edge", "runtime", "store"]),
        ("message-sender", &["domain", "provider", "queue", "runtime", "store", "worker"]),
        ("people", &["domain", "edge", "queue", "runtime", "store", "worker"]),
        ("portal", &["domain", "edge", "reference", "runtime"]),
        ("provider-events", &["domain", "edge", "provider", "queue", "runtime", "store"]),
        ("sweeper", &["domain", "queue", "runtime", "store"]),
        ("uploads", &["domain", "queue", "runtime", "store"]),
        ("users", &["admin", "domain", "edge", "runtime", "store"]),
        ("webhook-delivery", &["domain", "outbound", "queue", "runtime", "store", "worker"]),
    ],
    &[
        (
            "console",
            &[
                "admin",
                "domain",
                "edge",
                "event-relay",
                "inbox",
                "outbound",
                "people",
                "provider",
                "queue",
                "runtime",
                "store",
            ],
        ),
        ("floor", &[]),
        ("harness", &["domain", "edge", "provider", "runtime", "store"]),
        ("local", &["domain", "reference"]),
        ("model", &["domain"]),
        ("stack-tests", &[]),
    ],
    &[
        ("bench", &["domain", "harness", "store"]),
        (
            "fuzz",
            &[
                "access",
                "attributes",
                "console",
                "contacts",
                "conversations",
                "deliveries",
                "domain",
                "edge",
                "endpoints",
                "files",
                "harness",
                "lead-records",
                "leads",
                "messages",
                "provider",
                "queue",
                "runtime",
                "store",
                "users",
            ],
        ),
        (
            "world",
            &[
                "access",
                "attributes",
                "console",
                "contacts",
                "conversations",
                "deliveries",
                "domain",
                "edge",
                "endpoints",
                "event-relay",
                "files",
                "harness",
                "inbox",
                "lead-records",
                "lead-sender",
                "leads",
                "local",
                "message-sender",
                "messages",
                "people",
                "provider",
                "provider-events",
                "queue",
                "runtime",
                "store",
                "sweeper",
                "uploads",
                "users",
                "webhook-delivery",
            ],
        ),
    ],
];

/// Packages on which the tests of any package may also depend.
const FOR_TESTS: &[&str] = &["harness", "local"];

#[test]
fn every_package_depends_only_on_the_listed_packages_of_lower_layers() {
    let (built_from, tested_with) = edges();
    let listed: BTreeMap<String, BTreeSet<String>> = LAYERS
        .iter()
        .flat_map(|layer| layer.iter())
        .map(|(name, below)| ((*name).to_owned(), below.iter().map(|&name| name.to_owned()).collect()))
        .collect();
    assert_eq!(built_from, listed, "left: the manifests, right: the list of layers");

    for (height, layer) in LAYERS.iter().enumerate() {
        let below: BTreeSet<&str> =
            LAYERS[..height].iter().flat_map(|layer| layer.iter()).map(|(name, _)| *name).collect();
        for (name, imports) in *layer {
            for import in *imports {
                assert!(below.contains(import), "{name} depends on {import}, which is not on a lower layer");
            }
        }
    }

    for (name, imports) in tested_with.iter().filter(|(name, _)| *name != "stack-tests") {
        for import in imports {
            let known = FOR_TESTS.contains(&import.as_str()) || listed[name].contains(import);
            assert!(known, "the tests of {name} may not depend on {import}");
        }
    }
}

type Edges = BTreeMap<String, BTreeSet<String>>;

/// The workspace packages that each package depends on, and those that only its tests depend on.
fn edges() -> (Edges, Edges) {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let ours: BTreeSet<String> = metadata.packages.iter().map(|package| package.name.to_string()).collect();
    let mut edges = (Edges::new(), Edges::new());
    for package in &metadata.packages {
        let of_kind = |wanted: DependencyKind| {
            package
                .dependencies
                .iter()
                .filter(|dependency| dependency.kind == wanted && ours.contains(&dependency.name))
                .map(|dependency| dependency.name.clone())
                .collect()
        };
        edges.0.insert(package.name.to_string(), of_kind(DependencyKind::Normal));
        edges.1.insert(package.name.to_string(), of_kind(DependencyKind::Development));
    }
    edges
}

/// Every test named in the scenario table of docs/ARCHITECTURE.md exists.
#[test]
fn the_scenarios_of_the_webhooks_engine_are_tests() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/ARCHITECTURE.md")).unwrap();
    let table = page.split("<!-- scenarios -->").nth(1).unwrap().split("<!-- /scenarios -->").next().unwrap();
    let mut sources = String::new();
    for folder in ["functions", "tests", "tools", "shared"] {
        read_all(&root.join(folder), &mut sources);
    }
    let named: Vec<&str> = table.split('`').filter(|part| part.len() > 20 && !part.contains(' ')).collect();
    assert!(named.len() >= 30, "{}", named.len());
    for name in named {
        assert!(
            sources.contains(&format!("fn {name}()")),
            "docs/ARCHITECTURE.md names a test that does not exist: {name}"
        );
    }
}

fn read_all(folder: &std::path::Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("node_modules") {
            read_all(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}
