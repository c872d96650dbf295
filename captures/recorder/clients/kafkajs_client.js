// Scenario steps for kafkajs: `node kafkajs_client.js BOOTSTRAP [key=value...] STEP...`.
// Keys: user, password and mechanism for SASL, ca for TLS (a file with the authority's certificate).
"use strict";
const fs = require("fs");
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require("kafkajs");

CompressionCodecs[CompressionTypes.Snappy] = require("kafkajs-snappy");

const TOPIC = "orders-js";
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const CODECS = [
  ["none", CompressionTypes.None],
  ["gzip", CompressionTypes.GZIP],
  ["snappy", CompressionTypes.Snappy],
];

function messages(label, count) {
  return Array.from({ length: count }, (_, number) => ({
    key: `${label}-${number}`,
    value: JSON.stringify({ order: number, codec: label, note: "ab".repeat(40) }),
    headers: { source: "kafkajs" },
  }));
}

async function withAdmin(kafka, call) {
  const admin = kafka.admin();
  await admin.connect();
  await call(admin);
  await admin.disconnect();
}

async function withProducer(kafka, options, call) {
  const producer = kafka.producer({ allowAutoTopicCreation: false, ...options });
  await producer.connect();
  await call(producer);
  await producer.disconnect();
}

const STEPS = {
  topic: (kafka) =>
    withAdmin(kafka, (admin) =>
      admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: 2, replicationFactor: 1 }] })),

  produce: (kafka) =>
    withProducer(kafka, {}, async (producer) => {
      for (const [label, compression] of CODECS) {
        await producer.send({ topic: TOPIC, compression, messages: messages(label, 5) });
      }
      for (const acks of [0, 1, -1]) {
        await producer.send({ topic: TOPIC, acks, messages: messages(`acks${acks}`, 2) });
      }
    }),

  // Two members: join, rebalance, commit, leave.
  group: async (kafka) => {
    let got = 0;
    const members = [1, 2].map(() =>
      kafka.consumer({ groupId: "js-group", maxWaitTimeInMs: 200, heartbeatInterval: 1000 }));
    for (const member of members) {
      await member.connect();
      await member.subscribe({ topics: [TOPIC], fromBeginning: true });
      await member.run({ autoCommitInterval: 500, eachMessage: async () => { got += 1; } });
      await pause(2500);
    }
    for (const member of members) {
      member.pause([{ topic: TOPIC }]);
    }
    await pause(800);
    for (const member of members.reverse()) {
      await member.disconnect();
    }
    return got;
  },

  transactions: (kafka) =>
    withProducer(kafka, { transactionalId: "js-payments", maxInFlightRequests: 1, idempotent: true },
      async (producer) => {
        const committed = await producer.transaction();
        await committed.send({ topic: TOPIC, messages: messages("committed", 1) });
        await committed.sendOffsets({
          consumerGroupId: "js-tx-group",
          topics: [{ topic: TOPIC, partitions: [{ partition: 0, offset: "1" }] }],
        });
        await committed.commit();
        const aborted = await producer.transaction();
        await aborted.send({ topic: TOPIC, messages: messages("aborted", 1) });
        await aborted.abort();
      }),

  admin: (kafka) =>
    withAdmin(kafka, async (admin) => {
      await admin.fetchTopicMetadata({ topics: [TOPIC] });
      await admin.fetchTopicOffsets(TOPIC);
      await admin.fetchTopicOffsetsByTimestamp(TOPIC, 1600000000000);
      await admin.listGroups();
      await admin.describeGroups(["js-group"]);
      await admin.fetchOffsets({ groupId: "js-group", topics: [TOPIC] });
      await admin.describeConfigs({ includeSynonyms: false, resources: [{ type: 2, name: TOPIC }] });
      await admin.describeCluster();
      await admin.createPartitions({ topicPartitions: [{ topic: TOPIC, count: 3 }] });
      await admin.deleteTopicRecords({ topic: TOPIC, partitions: [{ partition: 0, offset: "1" }] });
      await admin.deleteGroups(["js-group"]);
      await admin.deleteTopics({ topics: [TOPIC] });
    }),
};

async function main([bootstrap, ...words]) {
  const config = Object.fromEntries(words.filter((word) => word.includes("=")).map((word) => {
    const equals = word.indexOf("=");
    return [word.slice(0, equals), word.slice(equals + 1)];
  }));
  const kafka = new Kafka({
    clientId: "js-client",
    brokers: bootstrap.split(","),
    logLevel: logLevel.ERROR,
    retry: { retries: Number(config.retries || 5) },
    ...(config.user && {
      sasl: { mechanism: config.mechanism, username: config.user, password: config.password },
    }),
    ...(config.ca && {
      ssl: { ca: [fs.readFileSync(config.ca)], checkServerIdentity: () => undefined, maxVersion: config.tls },
    }),
  });
  for (const word of words.filter((each) => !each.includes("="))) {
    try {
      console.log(`-- ${word}:`, await STEPS[word](kafka));
    } catch (error) {
      console.log(`-- ${word}: ${error.name}: ${error.message}`);
    }
  }
}

main(process.argv.slice(2)).then(() => process.exit(0));
