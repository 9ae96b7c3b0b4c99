//! Files and folders with personal data: nobody but the operator reads them, and they replace nothing.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Result, Write};
#[cfg(unix)]
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Creates a folder that must not exist.
pub(crate) fn folder(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(path)
}

/// Creates a file that must not exist.
pub(crate) fn file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path)
}

/// Creates a file with these bytes.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    file(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_the_operator_reads_what_is_created_and_nothing_is_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let place = std::env::temp_dir().join(format!("private-{}", std::process::id()));
        folder(&place).unwrap();
        let inside = place.join("person.json");
        write(&inside, b"Ana").unwrap();
        let modes = [&place, &inside].map(|path| path.metadata().unwrap().permissions().mode() & 0o777);
        assert_eq!(modes, [0o700, 0o600]);
        assert!(folder(&place).is_err() && write(&inside, b"Bob").is_err());
        assert_eq!(std::fs::read(&inside).unwrap(), b"Ana");
        std::fs::remove_dir_all(&place).unwrap();
    }
}
