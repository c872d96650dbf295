"""Authentication and encryption: SASL in both framings, failing logins, TLS with its key log."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from recorder.jars import library
from recorder.java import compiled, run_tool
from recorder.keylog import by_client_random
from recorder.kraft import KraftCluster
from recorder.other_clients import go_client, node_client, python_client
from recorder.requirements import require_programs
from recorder.scenarios.kraft import NET
from recorder.sniffer import Recording
from recorder.stage import CAPTURES, java_client, recording

_SASL_PORT, _TLS_PORT, _SASL_TLS_PORT = 9096, 9097, 9098
_USER, _PASSWORD = "alice", "alice-secret"
_STORE_PASSWORD = "keystore-secret"
_MODULES = "org.apache.kafka.common.security"


def _jaas(module: str, **settings: str) -> str:
    words = "".join(f' {key}="{value}"' for key, value in settings.items())
    return f"{_MODULES}.{module} required{words};"


_PLAIN = _jaas("plain.PlainLoginModule", username=_USER, password=_PASSWORD)
_SCRAM = _jaas("scram.ScramLoginModule", username=_USER, password=_PASSWORD)
_WRONG = _jaas("plain.PlainLoginModule", username=_USER, password="wrong-secret")
_WRONG_SCRAM = _jaas("scram.ScramLoginModule", username=_USER, password="wrong-secret")
_OAUTH = "oauthbearer.OAuthBearerLoginModule"


def _mechanisms(listener: str) -> dict[str, str]:
    """Broker settings of a SASL listener; SCRAM-SHA-512 logins must be renewed every three seconds."""
    prefix = f"listener.name.{listener}"
    return {
        f"{prefix}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        f"{prefix}.plain.sasl.jaas.config": _jaas("plain.PlainLoginModule", **{f"user_{_USER}": _PASSWORD}),
        f"{prefix}.scram-sha-256.sasl.jaas.config": _jaas("scram.ScramLoginModule"),
        f"{prefix}.scram-sha-512.sasl.jaas.config": _jaas("scram.ScramLoginModule"),
        f"{prefix}.oauthbearer.sasl.jaas.config": _jaas(_OAUTH, unsecuredLoginStringClaim_sub="broker"),
        f"{prefix}.scram-sha-512.connections.max.reauth.ms": "3000",
    }


_USERS = tuple(f"SCRAM-SHA-{size}=[name={_USER},password={_PASSWORD}]" for size in (256, 512))
_TOKENS = {"delegation.token.secret.key": "recorder-token-key", "delegation.token.master.key": "recorder-token-key"}


def _sasl_node(version: str, **changed: str) -> KraftCluster:
    tokens = {key: text for key, text in _TOKENS.items() if ("master" in key) == (version < "4")}
    listeners = {"SASL": ("", _SASL_PORT, "SASL_PLAINTEXT")}
    config = _mechanisms("sasl") | tokens | changed
    return KraftCluster(version, NET[version], 1, config, scram=_USERS, listeners=listeners)


def _record(name: str, version: str, port: str, told: str) -> Recording:
    comment = f"{told}; one node of Kafka {version}; client connections"
    return recording(f"{name}-{version}", f"net {NET[version]}.0/24 and ({port})", comment)


def _login(mechanism: str, jaas: str, protocol: str = "SASL_PLAINTEXT") -> tuple[str, ...]:
    return (f"security.protocol={protocol}", f"sasl.mechanism={mechanism}", f"sasl.jaas.config={jaas}")


def sasl_java() -> None:
    """Kafka's own clients: every mechanism, tokens, renewed logins, wrong passwords; raw tokens from 0.10."""
    version = "3.9.2"
    told = "SASL logins of kafka-clients 3.9.2 and, with raw tokens, of 0.10.1.1; wrong passwords; delegation tokens"
    with _sasl_node(version) as node:
        node.start()
        bootstrap = f"{node.host(1)}:{_SASL_PORT}"
        java_client(version, "AdminTour", node.bootstrap, "topics")
        with _record("sasl-java", version, f"port {_SASL_PORT}", told):
            java_client(version, "Traffic", bootstrap, *_login("PLAIN", _PLAIN), "hello")
            java_client(version, "Traffic", bootstrap, *_login("SCRAM-SHA-256", _SCRAM), "hello")
            java_client(version, "Traffic", bootstrap, *_login("SCRAM-SHA-512", _SCRAM), "seconds=7", "load")
            oauth = _jaas(_OAUTH, unsecuredLoginStringClaim_sub=_USER)
            java_client(version, "Traffic", bootstrap, *_login("OAUTHBEARER", oauth), "hello")
            java_client(version, "Traffic", bootstrap, *_login("PLAIN", _WRONG), "hello")
            java_client(version, "Traffic", bootstrap, *_login("SCRAM-SHA-256", _WRONG_SCRAM), "hello")
            printed = java_client(version, "AdminTour", bootstrap, *_login("SCRAM-SHA-256", _SCRAM), "tokens", "token")
            for token, secret in re.findall(r"id=(\S+) hmac=(\S+)", printed):
                jaas = _jaas("scram.ScramLoginModule", username=token, password=secret, tokenauth="true")
                java_client(version, "Traffic", bootstrap, *_login("SCRAM-SHA-256", jaas), "hello")
            _raw_tokens(bootstrap, Path(node.folder) / "jaas.conf", _PLAIN)
            _raw_tokens(bootstrap, Path(node.folder) / "wrong.conf", _WRONG)


def _raw_tokens(bootstrap: str, file: Path, jaas: str) -> None:
    """A client from before SaslAuthenticate (KIP-152): its tokens have only a length before them."""
    file.write_text(f"KafkaClient {{ {jaas} }};\n")
    path = compiled("0.10.1.1", "Steps", "OldClient")
    words = (
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        "max.block.ms=3000",
        "retries=0",
        "reconnect.backoff.ms=1000",
    )
    options = (f"-Djava.security.auth.login.config={file}",)
    print(run_tool("0.10.1.1", "OldClient", bootstrap, *words, "acks", path=path, options=options, timeout=30))


def sasl_clients() -> None:
    """The other libraries, sarama also with raw tokens."""
    version = "4.4.0"
    told = "SASL logins of librdkafka, kafka-python, aiokafka, kafkajs, franz-go and sarama (also raw tokens); wrong passwords"
    offered = {"listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256"}
    with _sasl_node(version, **offered) as node:
        node.start()
        bootstrap = f"{node.host(1)}:{_SASL_PORT}"
        go_client(node.bootstrap, "sarama-topic", "franz-topic")
        with _record("sasl-clients", version, f"port {_SASL_PORT}", told):
            for mechanism in ("PLAIN", "SCRAM-SHA-256"):
                rd = ("security.protocol=SASL_PLAINTEXT", f"sasl.mechanism={mechanism}", f"sasl.username={_USER}")
                python_client("librdkafka", bootstrap, *rd, f"sasl.password={_PASSWORD}", "metadata")
                names = ("security_protocol=SASL_PLAINTEXT", f"sasl_mechanism={mechanism}", f"sasl_plain_username={_USER}")
                for library_name in ("kafka_python", "aiokafka"):
                    python_client(library_name, bootstrap, *names, f"sasl_plain_password={_PASSWORD}", "metadata")
                python_client("aiokafka", bootstrap, *names, "sasl_plain_password=wrong-secret", "metadata")
                js = (f"user={_USER}", f"mechanism={mechanism.lower()}", "retries=0")
                node_client(bootstrap, *js, f"password={_PASSWORD}", "topic")
                node_client(bootstrap, *js, "password=wrong-secret", "topic")
                go = (f"user={_USER}", f"password={_PASSWORD}", f"mechanism={mechanism}")
                go_client(bootstrap, *go, "franz-transactions", "sarama-transaction")
                go_client(bootstrap, *go[:2], "mechanism=SCRAM-SHA-512", "franz-topic")
                go_client(bootstrap, *go, "handshake=0", "version=2.1.0", "sarama-transaction")
            go_client(bootstrap, f"user={_USER}", "password=wrong-secret", "handshake=0", "version=2.1.0", "sarama-topic")
            go_client(bootstrap, f"user={_USER}", "password=wrong-secret", "sarama-topic")


def _certificate(folder: Path, host: str) -> tuple[Path, Path]:
    """A self-signed certificate: the broker's key store, and the certificate for its clients."""
    store, certificate = folder / "broker.p12", folder / "broker.pem"
    common = ["keytool", "-alias", "broker", "-keystore", str(store), "-storepass", _STORE_PASSWORD]
    make = ["-genkeypair", "-keyalg", "RSA", "-dname", "CN=broker", "-ext", f"SAN=ip:{host}", "-ext", "BC=ca:true"]
    subprocess.run([*common, *make, "-storetype", "PKCS12", "-validity", "3650"], check=True, stderr=subprocess.DEVNULL)
    export = ["-exportcert", "-rfc", "-file", str(certificate)]
    subprocess.run([*common, *export], check=True, stderr=subprocess.DEVNULL)
    return store, certificate


def tls() -> None:
    """TLS 1.2 and 1.3; an agent in the broker writes the secrets of every connection."""
    require_programs("tshark")
    version = "4.4.0"
    listeners = {"TLS": ("", _TLS_PORT, "SSL"), "SASLTLS": ("", _SASL_TLS_PORT, "SASL_SSL")}
    config = {
        "ssl.keystore.password": _STORE_PASSWORD,
        "ssl.keystore.type": "PKCS12",
        "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
        **_mechanisms("sasltls"),
    }
    with KraftCluster(version, NET[version], 1, config, scram=_USERS, listeners=listeners) as node:
        store, certificate = _certificate(node.folder, node.host(1))
        secrets = node.folder / "secrets.log"
        agent = f"-javaagent:{library('tls-secrets', 'extract-tls-secrets')}={secrets}"
        node.configure({"ssl.keystore.location": str(store)}, options=(agent,))
        node.start()
        encrypted, both = f"{node.host(1)}:{_TLS_PORT}", f"{node.host(1)}:{_SASL_TLS_PORT}"
        ports = f"port {_TLS_PORT} or port {_SASL_TLS_PORT}"
        trust = ("ssl.truststore.type=PEM", f"ssl.truststore.location={certificate}")
        java_client(version, "AdminTour", node.bootstrap, "topics")
        go_client(node.bootstrap, "franz-topic", "sarama-topic")
        with _record("tls-java", version, ports, "kafka-clients 4.4.0 over TLS 1.3 and 1.2, and with SCRAM inside TLS"):
            java_client(version, "Traffic", encrypted, "security.protocol=SSL", *trust, "codecs=none,zstd", "codecs", "hello")
            old = "ssl.enabled.protocols=TLSv1.2"
            java_client(version, "Traffic", encrypted, "security.protocol=SSL", old, *trust, "hello")
            scram = _login("SCRAM-SHA-256", _SCRAM, "SASL_SSL")
            java_client(version, "Traffic", both, *scram, *trust, "hello")
        seen = _keys(secrets, f"tls-java-{version}", 0)
        told = "librdkafka, kafka-python, aiokafka, kafkajs (TLS 1.2) and franz-go (also with SCRAM) over TLS"
        with _record("tls-clients", version, ports, told):
            python_client("librdkafka", encrypted, "security.protocol=SSL", f"ssl.ca.location={certificate}", "metadata")
            python_client("kafka_python", encrypted, "security_protocol=SSL", f"ssl_cafile={certificate}", "metadata")
            python_client("aiokafka", encrypted, "security_protocol=SSL", f"ca={certificate}", "metadata")
            node_client(encrypted, f"ca={certificate}", "tls=TLSv1.2", "topic", "produce")
            go_client(encrypted, f"ca={certificate}", "franz-transactions")
            login = (f"user={_USER}", f"password={_PASSWORD}", "mechanism=SCRAM-SHA-256")
            go_client(both, f"ca={certificate}", *login, "franz-transactions", "sarama-transaction")
        _keys(secrets, f"tls-clients-{version}", seen)


def _keys(secrets: Path, name: str, seen: int) -> int:
    """Put the key log lines that are new beside a capture; returns how many there are in all."""
    lines = secrets.read_text().splitlines(keepends=True)
    kept = by_client_random(CAPTURES / f"{name}.pcapng", (_TLS_PORT, _SASL_TLS_PORT), lines[seen:])
    (CAPTURES / f"{name}.keys").write_text("".join(kept))
    return len(lines)


SCENARIOS: dict[str, Callable[[], None]] = {
    "sasl-java-3.9.2": sasl_java,
    "sasl-clients-4.4.0": sasl_clients,
    "tls-4.4.0": tls,
}
