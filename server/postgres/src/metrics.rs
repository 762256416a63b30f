//! Metrics of pools and replicas.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric as _, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::histogram::Histogram;

use crate::database::Database;

/// The pool of the hot path: [`Database::run`].
const TRANSACTIONS: &str = "transactions";
/// The pool of clients: [`Database::client`].
const CLIENTS: &str = "clients";

/// The metrics of several databases, each with a name. Values are read at each scrape.
pub struct PoolMetrics(pub Vec<(&'static str, Database)>);

impl fmt::Debug for PoolMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// The state of one pool.
struct PoolState<'d> {
    labels: [(&'static str, &'static str); 2],
    max: usize,
    idle: usize,
    busy: usize,
    waiting: usize,
    waits: &'d Histogram,
}

impl PoolMetrics {
    fn pools(&self) -> impl Iterator<Item = PoolState<'_>> {
        self.0.iter().flat_map(|(name, database)| {
            let inner = &database.inner;
            let (batches, clients) = (inner.batches.statistics(), inner.clients.status());
            let labels = |kind| [("database", *name), ("pool", kind)];
            [
                PoolState {
                    labels: labels(TRANSACTIONS),
                    max: batches.max,
                    idle: batches.available,
                    busy: batches.busy,
                    waiting: batches.waiting,
                    waits: &inner.batches.waits,
                },
                PoolState {
                    labels: labels(CLIENTS),
                    max: clients.max_size,
                    idle: clients.available,
                    busy: clients.size.saturating_sub(clients.available),
                    waiting: inner.clients.waiting(),
                    waits: &inner.clients.waits,
                },
            ]
        })
    }
}

impl Collector for PoolMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let pools: Vec<PoolState<'_>> = self.pools().collect();
        let mut open =
            descriptor(&mut encoder, "database_pool_connections", "Open connections, by what they do")?;
        for pool in &pools {
            for (state, count) in [("idle", pool.idle), ("busy", pool.busy)] {
                let [database, kind] = pool.labels;
                gauge(&mut open, &[database, kind, ("state", state)], &count)?;
            }
        }
        let mut most =
            descriptor(&mut encoder, "database_pool_max_connections", "Connections that a pool may open")?;
        for pool in &pools {
            gauge(&mut most, &pool.labels, &pool.max)?;
        }
        let mut waiting =
            descriptor(&mut encoder, "database_pool_waiting", "Callers that wait for a connection")?;
        for pool in &pools {
            gauge(&mut waiting, &pool.labels, &pool.waiting)?;
        }
        let help = "Time that callers waited for a connection, of those who had to";
        let mut waits =
            encoder.encode_descriptor("database_pool_wait_seconds", help, None, MetricType::Histogram)?;
        for pool in &pools {
            pool.waits.encode(waits.encode_family(&pool.labels)?)?;
        }
        self.encode_openings(&mut encoder)?;
        self.encode_replicas(&mut encoder)
    }
}

impl PoolMetrics {
    fn encode_openings(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Callers that got no connection in time";
        let mut timeouts =
            encoder.encode_descriptor("database_pool_timeouts", help, None, MetricType::Counter)?;
        for (name, database) in &self.0 {
            let count = database.pool_statistics().timeouts;
            let labels = [("database", *name)];
            ConstCounter::new(count).encode(timeouts.encode_family(&labels)?)?;
        }
        let help = "Time that it took to open connections for transactions";
        let mut openings =
            encoder.encode_descriptor("database_pool_open_seconds", help, None, MetricType::Histogram)?;
        for (name, database) in &self.0 {
            let labels = [("database", *name)];
            database.inner.batches.openings.encode(openings.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn encode_replicas(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let states: Vec<_> = self
            .0
            .iter()
            .flat_map(|(name, database)| database.inner.replicas.states().map(|state| (*name, state)))
            .collect();
        let help = "Whether reads go to the replica (1) or not (0)";
        let mut up = descriptor(encoder, "database_replica_up", help)?;
        for (name, state) in &states {
            let labels = [("database", *name), ("replica", &*state.number.to_string())];
            gauge(&mut up, &labels, &i64::from(state.is_healthy))?;
        }
        let help = "Time by which the replica lagged behind when it was looked at last";
        let mut lags = descriptor(encoder, "database_replica_lag_seconds", help)?;
        for (name, state) in &states {
            let labels = [("database", *name), ("replica", &*state.number.to_string())];
            gauge(&mut lags, &labels, &state.lag.as_secs_f64())?;
        }
        Ok(())
    }
}

/// Begins a gauge.
fn descriptor<'e>(
    encoder: &'e mut DescriptorEncoder<'_>,
    name: &'e str,
    help: &str,
) -> Result<MetricEncoder<'e>, fmt::Error> {
    encoder.encode_descriptor(name, help, None, MetricType::Gauge)
}

fn gauge<const N: usize>(
    encoder: &mut MetricEncoder<'_>,
    labels: &[(&str, &str); N],
    value: &impl EncodeGaugeValue,
) -> fmt::Result {
    encoder.encode_family(labels)?.encode_gauge(value)
}
