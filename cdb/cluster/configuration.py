"""A node's files: cassandra.yaml, logback.xml, and the options of its Java."""

from pathlib import Path
from xml.sax.saxutils import escape

from cdb.process.children import finished

HEAP_MB = 512
CQL_PORT, STORAGE_PORT, FIRST_JMX_PORT = 9042, 7000, 7199
_TOKENS = 1 << 64

_YAML = """\
cluster_name: cdb
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
num_tokens: 1
initial_token: '{token}'
auto_bootstrap: false
listen_address: {address}
rpc_address: {address}
native_transport_port: {cql_port}
storage_port: {storage_port}
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: '{seeds}'
data_file_directories: ['{directory}/data']
commitlog_directory: '{directory}/commitlog'
hints_directory: '{directory}/hints'
saved_caches_directory: '{directory}/saved_caches'
cdc_raw_directory: '{directory}/cdc_raw'
commitlog_sync: {sync}
commitlog_segment_size: 16MiB
# Of batches of rows that are in 32 partitions; what refuses larger ones is as Cassandra has it.
batch_size_warn_threshold: 50KiB
unlogged_batch_across_partitions_warn_threshold: 1000
# Three nodes share a machine.
concurrent_reads: 16
concurrent_writes: 32
concurrent_compactors: 1
file_cache_size: 32MiB
memtable_heap_space: 96MiB
memtable_offheap_space: 96MiB
read_request_timeout: 10s
range_request_timeout: 20s
write_request_timeout: 5s
cas_contention_timeout: 5s
request_timeout: 10s
{more}"""

_SYNC = {
    "group": "group\ncommitlog_sync_group_window: 2ms",
    "batch": "batch",
    "periodic": "periodic\ncommitlog_sync_period: 10s",
}
SYNCS = tuple(_SYNC)

_STORE_WORD = "cdb-on-this-machine"
"""It keeps nothing secret: who can read the store has it."""
_TLS = """\
client_encryption_options:
  enabled: true
  optional: true
  keystore: '{store}'
  keystore_password: {word}
  require_client_auth: false
"""

QUIET = "quiet.xml"
"""The logback.xml of tools."""
_LOGBACK = """\
<configuration>
  <appender name="FILE" class="ch.qos.logback.core.rolling.RollingFileAppender">
    <file>{directory}/system.log</file>
    <rollingPolicy class="ch.qos.logback.core.rolling.FixedWindowRollingPolicy">
      <fileNamePattern>{directory}/system.log.%i</fileNamePattern>
      <minIndex>1</minIndex><maxIndex>3</maxIndex>
    </rollingPolicy>
    <triggeringPolicy class="ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy">
      <maxFileSize>20MB</maxFileSize>
    </triggeringPolicy>
    <encoder><pattern>%-5level [%thread] %date{{ISO8601}} %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="FILE"/></root>
</configuration>
"""

_OPENED = (
    *("java.base/java.io", "java.base/java.lang", "java.base/java.lang.module"),
    *("java.base/java.lang.reflect", "java.base/java.nio", "java.base/java.util"),
    *("java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic"),
    *("java.base/jdk.internal.loader", "java.base/jdk.internal.math"),
    *("java.base/jdk.internal.module", "java.base/jdk.internal.ref"),
    *("java.base/jdk.internal.reflect", "java.base/jdk.internal.util.jar"),
    *("java.base/sun.nio.ch", "jdk.management/com.sun.management.internal"),
)
_EXPORTED = (
    *("java.base/java.lang.ref", "java.base/jdk.internal.misc", "java.base/jdk.internal.ref"),
    *("java.base/sun.nio.ch", "java.rmi/sun.rmi.registry", "java.rmi/sun.rmi.server"),
    *("java.management.rmi/com.sun.jmx.remote.internal.rmi", "java.sql/java.sql"),
    *("jdk.unsupported/sun.misc", "jdk.attach/sun.tools.attach"),
)


def address_of(node: int) -> str:
    """Of node 1, 2, …"""
    return f"127.0.0.{node}"


def write_files(directory: Path, node: int, n_nodes: int, sync: str, more: str = "") -> None:
    """Write a node's files. more: lines of cassandra.yaml."""
    directory.mkdir(parents=True, exist_ok=True)
    told = _YAML.format(
        token=(2 * node - 1) * _TOKENS // (2 * n_nodes) - _TOKENS // 2,
        address=address_of(node),
        seeds=",".join(map(address_of, range(1, n_nodes + 1))),
        directory=_in_quotes(directory),
        cql_port=CQL_PORT,
        storage_port=STORAGE_PORT,
        sync=_SYNC[sync],
        more=more,
    )
    (directory / "cassandra.yaml").write_text(told)
    (directory / QUIET).write_text('<configuration><root level="OFF"/></configuration>\n')
    (directory / "logback.xml").write_text(_LOGBACK.format(directory=escape(str(directory))))


def _in_quotes(path: Path) -> str:
    """A path as it stands between YAML's single quotes."""
    return str(path).replace("'", "''")


def offer_tls(directory: Path, n_nodes: int) -> str:
    """Make a certificate of one's own for all nodes, directory/tls.pem, by Java's keytool, and give
    the lines of cassandra.yaml with which they offer TLS beside plain connections."""
    store, certificate = directory / "tls.p12", directory / "tls.pem"
    if not certificate.exists():
        directory.mkdir(parents=True, exist_ok=True)
        names = ",".join(f"ip:{address_of(node)}" for node in range(1, n_nodes + 1))
        of_store = ["-keystore", str(store), "-storetype", "PKCS12", "-storepass", _STORE_WORD]
        of_store += ["-alias", "cdb"]
        made = ["-genkeypair", *of_store, "-keyalg", "EC", "-dname", "CN=cdb", "-validity", "3650"]
        finished("keytool", *made, "-ext", f"san={names}").check_returncode()
        told = finished("keytool", "-exportcert", "-rfc", *of_store, "-file", str(certificate))
        told.check_returncode()
    return _TLS.format(store=_in_quotes(store), word=_STORE_WORD)


def java_options(directory: Path, node: int, jars: Path) -> list[str]:
    """What a node's Java gets, up to the class that it runs."""
    agent = next(jars.glob("jamm-*.jar"))
    return [
        f"-Xms{HEAP_MB}m",
        f"-Xmx{HEAP_MB}m",
        "-Xss512k",
        "-XX:+UseG1GC",
        "-XX:MaxGCPauseMillis=200",
        "-XX:MaxDirectMemorySize=256m",
        "-XX:-UsePerfData",
        f"-javaagent:{agent}",
        "-Djdk.attach.allowAttachSelf=true",
        "-Djava.awt.headless=true",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dcassandra.ring_delay_ms=2000",
        "-Dcassandra.skip_wait_for_gossip_to_settle=0",
        f"-Dcassandra.config={(directory / 'cassandra.yaml').as_uri()}",
        f"-Dcassandra.storagedir={directory}",
        f"-Dcassandra.logdir={directory}",
        f"-Dcassandra.jmx.local.port={FIRST_JMX_PORT + node}",
        f"-Dlogback.configurationFile={(directory / 'logback.xml').as_uri()}",
        *class_options(jars),
    ]


def class_options(jars: Path) -> list[str]:
    """Where Java finds the classes, and what of its own they may use."""
    opened = [f"--add-opens={each}=ALL-UNNAMED" for each in _OPENED]
    exported = [f"--add-exports={each}=ALL-UNNAMED" for each in _EXPORTED]
    return [*opened, *exported, "-cp", f"{jars}/*"]
