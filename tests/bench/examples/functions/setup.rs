//! What a measured function runs in: the data and events of its case, and stand-ins for AWS and for other providers.

use bench::{Authority, Aws, Database, Traffic, environment};
use domain::access::api_key::RateLimit;

use crate::cases::{Case, Scene};

/// A case with everything that its function calls.
pub(crate) struct Setup {
    scene: Scene,
    /// AWS over TLS.
    pub(crate) secure: Aws,
    /// AWS without TLS, and the other providers.
    plain: Aws,
    /// The variables of a process that calls AWS over TLS.
    pub(crate) env: Vec<(String, String)>,
}

impl Setup {
    /// See [`Scene::start`].
    pub(crate) async fn start(case: &Case, count: usize, rate: RateLimit, authority: &Authority) -> Self {
        let scene = Scene::start(case, count, rate, authority).await;
        let database = Database::Served(scene.world.db.endpoint().to_owned());
        let secure = Aws::start(database.clone(), Some(authority), Traffic::default()).await;
        let plain = Aws::start(database, None, Traffic::default()).await;
        let mut env = environment(&secure.server, &plain.server, Some(authority));
        env.extend(scene.environment());
        Self { scene, secure, plain, env }
    }

    /// The variables of a process that calls AWS without TLS.
    pub(crate) fn plain_env(&self) -> Vec<(String, String)> {
        let mut env = environment(&self.plain.server, &self.plain.server, None);
        env.extend(self.scene.environment());
        env
    }

    /// The events of the case. Each call begins with the first one.
    pub(crate) fn events(&self) -> impl Iterator<Item = &str> {
        self.scene.events.iter().map(String::as_str)
    }
}
