import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.token.delegation.DelegationToken;

/** What an administrator does; needs kafka-clients 3.9 or newer. Brokers that lack a call answer so or are not asked. */
public final class AdminTour {
    private interface Call {
        Object run(Admin admin) throws Exception;
    }

    private AdminTour() {
    }

    private static Steps.Step with(Call call) {
        return config -> {
            Properties own = Steps.with(config, "client.id", "java-admin", "default.api.timeout.ms", "30000",
                "enable.metrics.push", "true");
            own.remove("topic");
            try (Admin admin = Admin.create(own)) {
                return call.run(admin);
            }
        };
    }

    public static void main(String[] words) {
        new Steps()
            .add("topics", with(AdminTour::topics))
            .add("led-by-two", with(AdminTour::ledByTwo))
            .add("configs", with(AdminTour::configs))
            .add("acls", with(AdminTour::acls))
            .add("quotas", with(AdminTour::quotas))
            .add("throttle", with(AdminTour::throttle))
            .add("scram", with(AdminTour::scram))
            .add("tokens", with(AdminTour::tokens))
            .add("token", with(AdminTour::token))
            .add("moves", with(AdminTour::moves))
            .add("log-dirs", with(AdminTour::logDirs))
            .add("groups", with(AdminTour::groups))
            .add("transactions", with(AdminTour::transactions))
            .add("cluster", with(AdminTour::cluster))
            .add("features", with(AdminTour::features))
            .add("telemetry", with(AdminTour::telemetry))
            .add("records", with(AdminTour::records))
            .add("delete", with(admin -> admin.deleteTopics(List.of("scratch")).all().get()))
            .run(words);
    }

    static Object topics(Admin admin) throws Exception {
        admin.createTopics(List.of(new NewTopic("orders", 2, (short) -1).configs(Map.of("max.message.bytes", "50000")),
            new NewTopic("scratch", Map.of(0, List.of(1), 1, List.of(1))))).all().get();
        String again;
        try {
            again = admin.createTopics(List.of(new NewTopic("orders", 1, (short) 1))).all().get() + "";
        } catch (Exception expected) {
            again = expected.getCause().getClass().getSimpleName();
        }
        admin.createPartitions(Map.of("scratch", NewPartitions.increaseTo(3))).all().get();
        admin.listTopics().names().get();
        return again + " " + admin.describeTopics(List.of("orders", "scratch")).allTopicNames().get().keySet();
    }

    /** A topic whose first partition broker 2 leads. */
    static Object ledByTwo(Admin admin) throws Exception {
        return admin.createTopics(List.of(
            new NewTopic("led-by-two", Map.of(0, List.of(2, 3, 1), 1, List.of(3, 1, 2))))).all().get();
    }

    static Object configs(Admin admin) throws Exception {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "scratch");
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, "1");
        admin.describeConfigs(List.of(topic), new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true))
            .all().get();
        admin.describeConfigs(List.of(broker)).all().get();
        admin.incrementalAlterConfigs(Map.of(topic, List.of(
            new AlterConfigOp(new ConfigEntry("retention.ms", "3600000"), AlterConfigOp.OpType.SET),
            new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND)))).all().get();
        try {
            admin.incrementalAlterConfigs(Map.of(topic, List.of(
                new AlterConfigOp(new ConfigEntry("retention.ms", "soon"), AlterConfigOp.OpType.SET)))).all().get();
        } catch (Exception expected) {
            return expected.getCause().getMessage();
        }
        return "accepted";
    }

    static Object acls(Admin admin) throws Exception {
        AclBinding binding = new AclBinding(new ResourcePattern(ResourceType.TOPIC, "orders", PatternType.PREFIXED),
            new AccessControlEntry("User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW));
        admin.createAcls(List.of(binding)).all().get();
        int found = admin.describeAcls(AclBindingFilter.ANY).values().get().size();
        admin.deleteAcls(List.of(binding.toFilter())).all().get();
        return found;
    }

    static Object quotas(Admin admin) throws Exception {
        ClientQuotaEntity entity = new ClientQuotaEntity(Map.of("user", "alice", "client-id", "slow"));
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity,
            List.of(new ClientQuotaAlteration.Op("consumer_byte_rate", 5000.0))))).all().get();
        return admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get();
    }

    static Object throttle(Admin admin) throws Exception {
        ClientQuotaEntity entity = new ClientQuotaEntity(Map.of("client-id", "java-throttled"));
        return admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity,
            List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 3000.0),
                new ClientQuotaAlteration.Op("consumer_byte_rate", 3000.0))))).all().get();
    }

    static Object scram(Admin admin) throws Exception {
        for (ScramMechanism mechanism : List.of(ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)) {
            admin.alterUserScramCredentials(List.of(
                new UserScramCredentialUpsertion("alice", new ScramCredentialInfo(mechanism, 4096), "alice-secret")))
                .all().get();
        }
        admin.describeUserScramCredentials().all().get();
        try {
            admin.alterUserScramCredentials(List.of(
                new UserScramCredentialDeletion("nobody", ScramMechanism.SCRAM_SHA_256))).all().get();
        } catch (Exception expected) {
            return expected.getCause().getMessage();
        }
        return "deleted";
    }

    static Object tokens(Admin admin) throws Exception {
        DelegationToken token = admin.createDelegationToken()
            .delegationToken().get();
        // A KRaft broker learns of the token a moment after the controller has answered.
        Thread.sleep(1_000);
        admin.renewDelegationToken(token.hmac(), new RenewDelegationTokenOptions().renewTimePeriodMs(300_000))
            .expiryTimestamp().get();
        int found = admin.describeDelegationToken().delegationTokens().get().size();
        admin.expireDelegationToken(token.hmac(), new ExpireDelegationTokenOptions().expiryTimePeriodMs(-1))
            .expiryTimestamp().get();
        return found;
    }

    /** Creates a token for a later login with it. */
    static Object token(Admin admin) throws Exception {
        DelegationToken token = admin.createDelegationToken().delegationToken().get();
        return "id=" + token.tokenInfo().tokenId() + " hmac=" + token.hmacAsBase64String();
    }

    static Object moves(Admin admin) throws Exception {
        TopicPartition zero = new TopicPartition("scratch", 0);
        admin.alterPartitionReassignments(Map.of(zero, Optional.of(new NewPartitionReassignment(List.of(2, 1))))).all().get();
        Object moving = admin.listPartitionReassignments().reassignments().get();
        Thread.sleep(3_000);
        try {
            return moving + " " + admin.electLeaders(ElectionType.PREFERRED, Set.of(zero)).partitions().get();
        } catch (Exception failed) {
            return moving + " " + failed.getCause();
        }
    }

    static Object logDirs(Admin admin) throws Exception {
        Map<Integer, Map<String, LogDirDescription>> found = admin.describeLogDirs(List.of(1, 2)).allDescriptions().get();
        TopicPartitionReplica replica = new TopicPartitionReplica("orders", 0, 1);
        String current = admin.describeReplicaLogDirs(List.of(replica)).values().get(replica).get().getCurrentReplicaLogDir();
        String other = found.get(1).keySet().stream().filter(dir -> !dir.equals(current)).findFirst().orElse("/nowhere");
        return admin.alterReplicaLogDirs(Map.of(replica, other)).all().get();
    }

    static Object groups(Admin admin) throws Exception {
        admin.listConsumerGroups().all().get();
        TopicPartition zero = new TopicPartition("orders", 0);
        admin.describeConsumerGroups(List.of("java-group", "no-such-group")).describedGroups().values()
            .forEach(future -> future.isDone());
        admin.listConsumerGroupOffsets("java-group").partitionsToOffsetAndMetadata().get();
        admin.alterConsumerGroupOffsets("java-group",
            Map.of(zero, new org.apache.kafka.clients.consumer.OffsetAndMetadata(1))).all().get();
        admin.deleteConsumerGroupOffsets("java-group", Set.of(zero)).all().get();
        try {
            admin.removeMembersFromConsumerGroup("java-group", new RemoveMembersFromConsumerGroupOptions(
                List.of(new MemberToRemove("static-member")))).all().get();
        } catch (Exception expected) {
            System.out.println("remove: " + expected.getCause());
        }
        return admin.deleteConsumerGroups(List.of("java-group")).all().get();
    }

    static Object transactions(Admin admin) throws Exception {
        TopicPartition zero = new TopicPartition("orders", 0);
        TopicPartition one = new TopicPartition("orders", 1);
        int count = admin.listTransactions().all().get().size();
        Map<String, TransactionDescription> described = new TreeMap<>();
        for (String id : List.of("java-payments", "java-hanging")) {
            try {
                described.put(id, admin.describeTransactions(List.of(id)).description(id).get());
            } catch (Exception failed) {
                System.out.println(id + ": " + failed.getCause());
            }
        }
        admin.describeProducers(List.of(zero, one)).all().get();
        admin.fenceProducers(List.of("java-payments")).all().get();
        TransactionDescription hanging = described.get("java-hanging");
        if (hanging != null && !hanging.topicPartitions().isEmpty()) {
            TopicPartition open = hanging.topicPartitions().iterator().next();
            admin.abortTransaction(new AbortTransactionSpec(open, hanging.producerId(),
                (short) hanging.producerEpoch(), hanging.coordinatorId() < 0 ? 0 : 0)).all().get();
        }
        return count + " " + described.keySet();
    }

    static Object cluster(Admin admin) throws Exception {
        Object nodes = admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true)).nodes().get();
        return nodes + " " + admin.describeMetadataQuorum().quorumInfo().get();
    }

    static Object features(Admin admin) throws Exception {
        Object found = admin.describeFeatures().featureMetadata().get();
        // Refused: the brokers no longer support so old a level.
        admin.updateFeatures(Map.of("metadata.version", new FeatureUpdate((short) 1, FeatureUpdate.UpgradeType.SAFE_DOWNGRADE)),
            new UpdateFeaturesOptions().validateOnly(true)).all().get();
        return found;
    }

    static Object telemetry(Admin admin) throws Exception {
        ConfigResource subscription = new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "all-clients");
        admin.incrementalAlterConfigs(Map.of(subscription, List.of(
            new AlterConfigOp(new ConfigEntry("interval.ms", "1000"), AlterConfigOp.OpType.SET),
            new AlterConfigOp(new ConfigEntry("metrics", "org.apache.kafka.producer.topic.,org.apache.kafka.consumer.coordinator."),
                AlterConfigOp.OpType.SET)))).all().get();
        return admin.listClientMetricsResources().all().get() + " " + admin.clientInstanceId(Duration.ofSeconds(10));
    }

    static Object records(Admin admin) throws Exception {
        TopicPartition zero = new TopicPartition("orders", 0);
        admin.listOffsets(Map.of(zero, OffsetSpec.latest())).all().get();
        admin.listOffsets(Map.of(zero, OffsetSpec.maxTimestamp())).all().get();
        return admin.deleteRecords(Map.of(zero, RecordsToDelete.beforeOffset(1))).all().get();
    }
}
