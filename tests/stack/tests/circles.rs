//! The modules of a crate have no circular imports. Here, a module is a file. It imports another module if its code,
//! without its tests, names an item of that module. A re-export is no import: the test follows the name to the file that
//! defines the item.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The crates whose rooms may import each other in both directions, because their rows are written together. A room is a
/// folder with the file of the same name.
const ROOMS_POINT_BOTH_WAYS: &[&str] = &[];

#[test]
fn no_crate_has_a_circle_between_its_modules() {
    let (mut circles, mut imports) = (String::new(), 0);
    for (name, root) in crates() {
        let read = Crate::read(&root);
        let edges = read.edges();
        imports += edges.values().map(BTreeSet::len).sum::<usize>();
        circles += &described(&name, "modules", &circle(edges));
        if !ROOMS_POINT_BOTH_WAYS.contains(&name.as_str()) {
            for (room, edges) in read.edges_between_rooms() {
                circles += &described(&name, &format!("rooms of {room}"), &circle(edges));
            }
        }
    }
    assert!(circles.is_empty(), "{circles}");
    assert!(imports > 1_000, "so few imports were found that the sources cannot have been read: {imports}");
}

/// A file that no crate declares is never compiled, and its tests never run.
#[test]
fn every_source_file_belongs_to_a_crate() {
    let read: BTreeSet<PathBuf> = crates().iter().flat_map(|(_, root)| Crate::read(root).files).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut folders: Vec<PathBuf> =
        ["functions", "shared", "tests", "tools"].map(|folder| root.join(folder)).into();
    let mut forgotten = vec![];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // These are workspaces of their own.
            let is_foreign = ["node_modules", "tests/fuzz/engine", "tests/contract/clients/rust"];
            if path.is_dir() {
                if !is_foreign.iter().any(|end| path.ends_with(end)) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") && !read.contains(&path) {
                forgotten.push(path);
            }
        }
    }
    assert!(forgotten.is_empty(), "no crate declares {forgotten:?}");
}

#[test]
fn a_circle_is_found_through_imports_paths_and_re_exports() {
    let file = |imports: &str| {
        let mut module = Module::default();
        module.scan(imports.parse().unwrap(), 0, true);
        module
    };
    let of = |a: &str, b: &str| {
        let root = file("mod a; mod b; pub use b::Thing;");
        Crate::of_files(vec![("crate", root), ("a", file(a)), ("b", file(b))])
    };
    let b = "use super::a::Other; pub struct Thing; #[cfg(test)] mod tests { use crate::a; }";
    for a in [
        "use crate::b::Thing; pub struct Other;",
        "use crate::{Thing as Renamed}; pub struct Other;",
        "pub struct Other(super::b::Thing);",
        "use crate::b; pub struct Other; fn f() -> b::Thing { println!(\"{}\", 1) }",
        "pub struct Other; fn f() { assert!(matches!(g(), crate::Thing)) }",
        "pub struct Other; mod inner { use super::super::Thing; }",
    ] {
        assert_eq!(circle(of(a, b).edges()).len(), 2, "{a}");
    }
    for a in [
        "pub struct Other;",
        "pub use crate::b::Thing; pub struct Other;",
        "#[cfg(test)] use crate::b::Thing;",
    ] {
        assert!(circle(of(a, b).edges()).is_empty(), "{a}");
    }
}

/// The modules that each module imports, by name.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// The modules that are in circles, or between two circles, with their imports among these modules.
fn circle(mut edges: Edges) -> Edges {
    loop {
        let imported: BTreeSet<String> = edges.values().flatten().cloned().collect();
        let before = edges.len();
        edges.retain(|module, imports| !imports.is_empty() && imported.contains(module));
        let left: BTreeSet<String> = edges.keys().cloned().collect();
        edges.values_mut().for_each(|imports| imports.retain(|import| left.contains(import)));
        if edges.len() == before && edges.values().all(|imports| !imports.is_empty()) {
            return edges;
        }
    }
}

fn described(name: &str, what: &str, circle: &Edges) -> String {
    let line = |(module, imports): (&String, &BTreeSet<String>)| {
        format!("  {module} imports {}\n", imports.iter().cloned().collect::<Vec<_>>().join(", "))
    };
    let lines: String = circle.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("{name}: a circle between {what}\n{lines}") }
}

/// The crates of the workspace, including tests and examples, each with its root file.
fn crates() -> Vec<(String, PathBuf)> {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let targets = metadata.packages.iter().flat_map(|package| {
        package.targets.iter().map(|target| {
            let kind = target.kind.first().unwrap().to_string();
            let name = if kind == "lib" {
                package.name.to_string()
            } else {
                format!("{} ({kind} {})", package.name, target.name)
            };
            (name, target.src_path.clone().into_std_path_buf())
        })
    });
    targets.collect()
}

/// The files of a crate; the first one is its root.
struct Crate {
    modules: Vec<Module>,
    files: Vec<PathBuf>,
}

/// A file's relations to other files.
#[derive(Default)]
struct Module {
    /// `crate`, or the path below it.
    name: String,
    parent: usize,
    children: BTreeMap<String, usize>,
    /// The files that it declares as modules.
    declared: Vec<Declared>,
    /// The items that it defines.
    items: BTreeSet<String>,
    imports: BTreeMap<String, Import>,
    /// The paths of `use a::b::*`.
    globs: Vec<Import>,
    /// The paths in its code.
    paths: BTreeSet<Vec<String>>,
}

struct Declared {
    name: String,
    /// The value of a `path` attribute.
    path: Option<String>,
    is_for_tests: bool,
}

struct Import {
    path: Vec<String>,
    is_re_export: bool,
}

impl Crate {
    fn read(root: &Path) -> Self {
        let mut read = Self { modules: vec![], files: vec![] };
        read.add("crate".to_owned(), 0, root, root.parent().unwrap());
        read
    }

    fn add(&mut self, name: String, parent: usize, file: &Path, folder: &Path) -> usize {
        let mut module = Module { name: name.clone(), parent, ..Module::default() };
        let tokens: TokenStream = std::fs::read_to_string(file).unwrap().parse().unwrap();
        module.scan(tokens, 0, true);
        let declared = std::mem::take(&mut module.declared);
        self.modules.push(module);
        self.files.push(file.canonicalize().unwrap());
        let id = self.modules.len() - 1;
        for Declared { name: child, path, is_for_tests } in declared {
            let (beside, below) = (folder.join(format!("{child}.rs")), folder.join(&child));
            let file = match path {
                Some(path) => file.with_file_name(path),
                None if beside.exists() => beside,
                None => below.join("mod.rs"),
            };
            if is_for_tests {
                let mut aside = Self { modules: vec![], files: vec![] };
                aside.add(child, 0, &file, &below);
                self.files.extend(aside.files);
                continue;
            }
            let full = if name == "crate" { child.clone() } else { format!("{name}::{child}") };
            let child_id = self.add(full, id, &file, &below);
            self.modules[id].children.insert(child, child_id);
        }
        id
    }

    /// A crate that consists of a root and files directly below it.
    fn of_files(files: Vec<(&str, Module)>) -> Self {
        let mut modules: Vec<Module> =
            files.into_iter().map(|(name, file)| Module { name: name.to_owned(), ..file }).collect();
        let children = (1..modules.len()).map(|id| (modules[id].name.clone(), id)).collect();
        modules[0].children = children;
        Self { modules, files: vec![] }
    }

    fn edges(&self) -> Edges {
        let name = |id: usize| self.modules[id].name.clone();
        let imports = |id: usize| self.imports_of(id).into_iter().filter(|&of| of != id).map(name).collect();
        (0..self.modules.len()).map(|id| (name(id), imports(id))).collect()
    }

    /// For each module with submodules: the imports between these submodules. Each submodule counts with everything below
    /// it.
    fn edges_between_rooms(&self) -> Vec<(String, Edges)> {
        let edges = self.edges();
        let of_room = |parent: &Module| {
            let room_of = |name: &str| {
                let below = if parent.name == "crate" {
                    Some(name)
                } else {
                    name.strip_prefix(&format!("{}::", parent.name))
                };
                below
                    .filter(|&name| name != "crate")
                    .and_then(|below| below.split("::").next())
                    .map(str::to_owned)
            };
            let mut rooms = Edges::new();
            for (module, imports) in &edges {
                let Some(room) = room_of(module) else { continue };
                let others =
                    imports.iter().filter_map(|import| room_of(import)).filter(|other| *other != room);
                rooms.entry(room.clone()).or_default().extend(others);
            }
            (parent.name.clone(), rooms)
        };
        self.modules.iter().filter(|module| !module.children.is_empty()).map(of_room).collect()
    }

    /// The modules that this one imports.
    fn imports_of(&self, id: usize) -> BTreeSet<usize> {
        let module = &self.modules[id];
        let is_named = |name: &String| module.paths.iter().any(|path| path[0] == *name);
        let used = module.imports.iter().filter(|(name, import)| !import.is_re_export || is_named(name));
        let paths =
            used.map(|(_, import)| &import.path).chain(module.paths.iter().filter(|path| path.len() > 1));
        let globs = module.globs.iter().filter(|glob| !glob.is_re_export);
        let named = paths.filter_map(|path| self.home_of(id, path, 0));
        named.chain(globs.filter_map(|glob| self.module_at(id, &glob.path))).collect()
    }

    /// The module that defines the item of a path. `None` if the path names a module, or an item of another crate.
    fn home_of(&self, from: usize, path: &[String], hops: usize) -> Option<usize> {
        if hops > 16 {
            return None;
        }
        let module = &self.modules[from];
        let is_start = matches!(path[0].as_str(), "crate" | "self" | "super");
        if !is_start && !module.children.contains_key(&path[0]) {
            let import = module.imports.get(&path[0])?;
            let is_own = import.path[0] == path[0] && import.path.len() == 1;
            let whole: Vec<String> = import.path.iter().chain(&path[1..]).cloned().collect();
            return if is_own { None } else { self.home_of(from, &whole, hops + 1) };
        }
        let mut at = from;
        for (place, step) in path.iter().enumerate() {
            let here = &self.modules[at];
            match step.as_str() {
                "crate" => at = 0,
                "self" => {}
                "super" => at = here.parent,
                name => match here.children.get(name) {
                    Some(&child) => at = child,
                    None => return self.home_of_item(at, &path[place..], hops),
                },
            }
        }
        None
    }

    fn home_of_item(&self, at: usize, path: &[String], hops: usize) -> Option<usize> {
        let here = &self.modules[at];
        if here.items.contains(&path[0]) {
            return Some(at);
        }
        if let Some(import) = here.imports.get(&path[0]) {
            let whole: Vec<String> = import.path.iter().chain(&path[1..]).cloned().collect();
            return self.home_of(at, &whole, hops + 1);
        }
        let of_globs = here.globs.iter().filter_map(|glob| self.module_at(at, &glob.path));
        let known = |&glob: &usize| {
            let there = &self.modules[glob];
            there.items.contains(&path[0]) || there.imports.contains_key(&path[0])
        };
        match of_globs.filter(|glob| *glob != at).find(known) {
            Some(glob) => self.home_of_item(glob, path, hops + 1),
            // A macro defined it.
            None => Some(at),
        }
    }

    fn module_at(&self, from: usize, path: &[String]) -> Option<usize> {
        let mut at = from;
        for step in path {
            at = match step.as_str() {
                "crate" => 0,
                "self" => at,
                "super" => self.modules[at].parent,
                name => *self.modules[at].children.get(name)?,
            };
        }
        Some(at)
    }
}

impl Module {
    /// Reads tokens. `inner` is the number of inline modules around them.
    fn scan(&mut self, tokens: TokenStream, inner: usize, has_items: bool) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let (mut at, mut is_public, mut given_path) = (0, false, None);
        while at < trees.len() {
            let was_public = std::mem::take(&mut is_public);
            match &trees[at] {
                TokenTree::Punct(mark) if mark.as_char() == '#' && group(&trees, at + 1).is_some() => {
                    let attribute = group(&trees, at + 1).unwrap();
                    let text = attribute.to_string().replace(' ', "");
                    if text == "cfg(test)" {
                        let end = end_of_item(&trees, at + 2);
                        if let [.., TokenTree::Ident(kind), TokenTree::Ident(name), TokenTree::Punct(_)] =
                            &trees[at + 2..end]
                            && *kind == "mod"
                        {
                            let name = name.to_string();
                            self.declared.push(Declared { name, path: None, is_for_tests: true });
                        }
                        at = end;
                        continue;
                    }
                    match text.strip_prefix("path=") {
                        Some(path) => given_path = Some(path.trim_matches('"').to_owned()),
                        None => self.scan(attribute, inner, false),
                    }
                    at += 2;
                }
                TokenTree::Group(group) => {
                    self.scan(group.stream(), inner, false);
                    at += 1;
                }
                TokenTree::Ident(word) => match word.to_string().as_str() {
                    "pub" => {
                        is_public = true;
                        let is_limited = matches!(&trees[at + 1], TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis);
                        at += if is_limited { 2 } else { 1 };
                    }
                    "use" if !is_mark(&trees, at + 1, '<') => {
                        let end = (at..trees.len()).find(|&end| is_mark(&trees, end, ';')).unwrap();
                        self.import(&trees[at + 1..end], vec![], was_public, inner);
                        at = end + 1;
                    }
                    "mod" if has_items => {
                        let name = trees[at + 1].to_string();
                        match group(&trees, at + 2) {
                            Some(body) => {
                                self.items.insert(name);
                                let mut within = Self::default();
                                within.scan(body, inner + 1, true);
                                self.take_in(within);
                            }
                            None => {
                                let path = given_path.take();
                                self.declared.push(Declared { name, path, is_for_tests: false });
                            }
                        }
                        at += 3;
                    }
                    "struct" | "enum" | "fn" | "const" | "static" | "type" | "trait" | "union"
                        if has_items =>
                    {
                        self.items.insert(trees[at + 1].to_string());
                        at += 1;
                    }
                    _ => at = self.path(&trees, at, inner),
                },
                _ => at += 1,
            }
        }
    }

    /// Records the path that begins at `start`. Returns the position after it.
    fn path(&mut self, trees: &[TokenTree], start: usize, inner: usize) -> usize {
        let mut path = vec![trees[start].to_string()];
        let mut at = start + 1;
        while let (true, true, Some(TokenTree::Ident(step))) =
            (is_mark(trees, at, ':'), is_mark(trees, at + 1, ':'), trees.get(at + 2))
        {
            path.push(step.to_string());
            at += 3;
        }
        let is_member =
            start > 0 && is_mark(trees, start - 1, '.') && !(start > 1 && is_mark(trees, start - 2, '.'));
        if !is_member {
            self.paths.insert(as_of_the_file(path, inner));
        }
        at
    }

    /// Records the imports of a `use`. `before` is the path so far.
    fn import(&mut self, trees: &[TokenTree], before: Vec<String>, is_re_export: bool, inner: usize) {
        let mut path = before;
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Group(group) => {
                    let trees: Vec<TokenTree> = group.stream().into_iter().collect();
                    for part in
                        trees.split(|tree| matches!(tree, TokenTree::Punct(mark) if mark.as_char() == ','))
                    {
                        if !part.is_empty() {
                            self.import(part, path.clone(), is_re_export, inner);
                        }
                    }
                    return;
                }
                TokenTree::Ident(word) if *word == "as" => {
                    let path = as_of_the_file(path, inner);
                    self.imports.insert(trees[at + 1].to_string(), Import { path, is_re_export });
                    return;
                }
                TokenTree::Ident(step) => path.push(step.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == '*' => {
                    self.globs.push(Import { path: as_of_the_file(path, inner), is_re_export });
                    return;
                }
                _ => {}
            }
            at += 1;
        }
        if path.len() > 1 && path.last().unwrap() == "self" {
            path.pop();
        }
        let name = path.last().unwrap().clone();
        self.imports.insert(name, Import { path: as_of_the_file(path, inner), is_re_export });
    }

    /// Adds the relations of an inline module to those of the file.
    fn take_in(&mut self, within: Self) {
        self.globs.extend(within.globs);
        self.paths.extend(within.paths);
        self.paths.extend(within.imports.into_values().map(|import| import.path));
    }
}

/// Converts a path in an inline module to the path that the file itself would use.
fn as_of_the_file(mut path: Vec<String>, inner: usize) -> Vec<String> {
    let above = path.iter().take_while(|step| *step == "super").count().min(inner);
    path.drain(..above);
    if above > 0 {
        path.insert(0, "self".to_owned());
    }
    path
}

fn group(trees: &[TokenTree], at: usize) -> Option<TokenStream> {
    match trees.get(at) {
        Some(TokenTree::Group(group)) => Some(group.stream()),
        _ => None,
    }
}

fn is_mark(trees: &[TokenTree], at: usize, mark: char) -> bool {
    matches!(trees.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// The position after the item that begins at `start`: after its semicolon or its braces.
fn end_of_item(trees: &[TokenTree], start: usize) -> usize {
    let is_end = |tree: &TokenTree| match tree {
        TokenTree::Punct(mark) => mark.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    };
    (start..trees.len()).find(|&at| is_end(&trees[at])).map_or(trees.len(), |end| end + 1)
}
