//! Charts that are fetched: `helm pull` gets an archive once, and it is kept by its digest.
//!
//! An archive is never unpacked: `helm` reads it as it is, within the bounds of every rendering.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::helm::Helm;
use super::{ChartError, ChartReference};
use crate::settings::RenderSettings;
use crate::user_cache::{KeptFiles, open_private, private_directory};

/// The largest archive that is taken. Helm itself reads no more than 100 MiB of what is in one.
const MAX_ARCHIVE: u64 = 32 << 20;
const ARCHIVE: &str = "tgz";
const DIGEST: &str = "digest";
/// Where `helm` puts what it pulls, and where an archive is that is kept nowhere.
const PULLED: &str = "pulled";

/// How many archives are kept, and how many names of them.
const KEPT: [KeptFiles; 2] = [
    KeptFiles {
        suffix: ARCHIVE,
        bytes: 256 << 20,
        files: 256,
    },
    KeptFiles {
        suffix: DIGEST,
        bytes: 1 << 20,
        files: 4096,
    },
];

/// An archive on this machine, whose digest was checked.
#[derive(Debug)]
pub(super) struct FetchedChart {
    pub(super) archive: PathBuf,
    /// `sha256:` and 64 digits.
    pub(super) digest: String,
}

/// Whether this is a chart that somebody packed, and small enough to be taken.
pub(super) fn is_archive(path: &Path) -> bool {
    let named = path.extension().is_some_and(|suffix| suffix == ARCHIVE);
    let small = |about: fs::Metadata| about.is_file() && about.len() <= MAX_ARCHIVE;
    named && path.metadata().is_ok_and(small)
}

/// The archive of a chart: from the cache, else from where it is.
pub(super) fn fetch(
    reference: &ChartReference,
    helm: &Helm<'_>,
) -> Result<FetchedChart, ChartError> {
    let cache = ChartCache::of(helm.context.settings);
    if let Some(found) = cache.and_then(|cache| cache.find(reference)) {
        return Ok(found);
    }
    helm.context.observer.fetching(&reference.to_string());
    let (archive, bytes) = pull(reference, helm)?;
    let digest = digest_of(&bytes);
    if let Some(expected) = reference.digest.as_ref().filter(|one| **one != digest) {
        return Err(ChartError::OtherDigest {
            reference: reference.to_string(),
            expected: expected.clone(),
            found: digest,
        });
    }
    let kept = cache.and_then(|cache| cache.keep(reference, &digest, &bytes));
    Ok(FetchedChart {
        archive: kept.unwrap_or(archive),
        digest,
    })
}

/// Has the next rendering fetch a chart again: what is kept of it is no chart.
pub(super) fn forget(reference: &ChartReference, settings: &RenderSettings) {
    if let Some(cache) = ChartCache::of(settings) {
        let _ = fs::remove_file(cache.name(reference));
    }
}

/// Has `helm` fetch an archive.
fn pull(reference: &ChartReference, helm: &Helm<'_>) -> Result<(PathBuf, Vec<u8>), ChartError> {
    let failed = |said: String| ChartError::Fetch {
        reference: reference.to_string(),
        said,
    };
    let directory = helm.private.path().join(PULLED);
    let made = helm.private.create_dir(PULLED);
    made.map_err(ChartError::PrivateDirectory)?;
    let output = helm.pull(reference, &directory)?;
    if !output.status.success() {
        return Err(failed(super::error::of_pull(&output.stderr)));
    }
    let entries = fs::read_dir(&directory).map_err(ChartError::PrivateDirectory)?;
    let mut files = entries.flatten().map(|entry| entry.path());
    let archive = files.find(|file| file.extension().is_some_and(|end| end == ARCHIVE));
    let archive = archive.ok_or_else(|| failed("`helm pull` left no archive".to_owned()))?;
    let bytes = read(&archive).map_err(ChartError::PrivateDirectory)?;
    match bytes.len() as u64 > MAX_ARCHIVE {
        false => Ok((archive, bytes)),
        true => Err(failed(format!(
            "the archive has more than {} MiB",
            MAX_ARCHIVE >> 20
        ))),
    }
}

fn read(archive: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = fs::File::open(archive)?;
    file.take(MAX_ARCHIVE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hexadecimal(&Sha256::digest(bytes)))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Archives by their digests, and the digest that each reference had when it was fetched.
#[derive(Debug, Clone, Copy)]
struct ChartCache<'a>(&'a Path);

impl<'a> ChartCache<'a> {
    fn of(settings: &'a RenderSettings) -> Option<Self> {
        let directory = settings.charts.as_deref()?;
        private_directory(directory).map(Self)
    }

    /// What is kept for a reference, if it is there and undamaged.
    fn find(self, reference: &ChartReference) -> Option<FetchedChart> {
        let digest = match &reference.digest {
            Some(digest) => digest.clone(),
            None => {
                let mut known = String::new();
                let file = open_private(&self.name(reference))?;
                file.take(100).read_to_string(&mut known).ok()?;
                known
            }
        };
        let archive = self.archive(&digest)?;
        let file = open_private(&archive)?;
        let mut bytes = Vec::new();
        (&file).take(MAX_ARCHIVE).read_to_end(&mut bytes).ok()?;
        if digest_of(&bytes) != digest {
            return None;
        }
        // What is in use goes last.
        let _ = file.set_modified(SystemTime::now());
        Some(FetchedChart { archive, digest })
    }

    /// Keeps an archive. Whatever goes wrong is no matter: the next rendering fetches it again.
    fn keep(self, reference: &ChartReference, digest: &str, bytes: &[u8]) -> Option<PathBuf> {
        let archive = self.archive(digest)?;
        self.write(&archive, bytes)?;
        self.write(&self.name(reference), digest.as_bytes())?;
        KEPT.iter().for_each(|kept| kept.drop_oldest(self.0));
        archive.is_file().then_some(archive)
    }

    fn write(self, path: &Path, bytes: &[u8]) -> Option<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.0).ok()?;
        file.write_all(bytes).ok()?;
        file.persist(path).ok().map(drop)
    }

    fn archive(self, digest: &str) -> Option<PathBuf> {
        let digits = digest.strip_prefix("sha256:")?;
        let only_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        only_digits.then(|| self.0.join(format!("{digits}.{ARCHIVE}")))
    }

    /// The file that says which digest a reference has.
    fn name(self, reference: &ChartReference) -> PathBuf {
        let mut key = Sha256::new();
        let repo = reference.repo.as_deref().unwrap_or_default();
        for part in [&*reference.reference, repo, &*reference.version] {
            key.update((part.len() as u64).to_be_bytes());
            key.update(part);
        }
        self.0
            .join(format!("{}.{DIGEST}", hexadecimal(&key.finalize())))
    }
}
