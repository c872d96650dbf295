package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const franzTopic = "orders-fg"

var steps = map[string]step{
	"franz-topic":        franzCreate,
	"franz-produce":      franzProduce,
	"franz-group":        franzGroup,
	"franz-transactions": franzTransactions,
	"franz-admin":        franzAdmin,
	"sarama-topic":       saramaCreate,
	"sarama-produce":     saramaProduce,
	"sarama-group":       saramaGroup,
	"sarama-read":        saramaRead,
	"sarama-admin":       saramaAdmin,
	"sarama-transaction": saramaTransaction,
}

func franzClient(bootstrap []string, settings config, name string, options ...kgo.Opt) (*kgo.Client, error) {
	options = append(options, kgo.SeedBrokers(bootstrap...), kgo.ClientID(name), kgo.FetchMaxWait(200*time.Millisecond))
	if user := settings["user"]; user != "" {
		scramAuth := scram.Auth{User: user, Pass: settings["password"]}
		switch settings["mechanism"] {
		case "SCRAM-SHA-256":
			options = append(options, kgo.SASL(scramAuth.AsSha256Mechanism()))
		case "SCRAM-SHA-512":
			options = append(options, kgo.SASL(scramAuth.AsSha512Mechanism()))
		default:
			options = append(options, kgo.SASL(plain.Auth{User: user, Pass: settings["password"]}.AsMechanism()))
		}
	}
	encryption, err := settings.tlsConfig()
	if err != nil {
		return nil, err
	}
	if encryption != nil {
		options = append(options, kgo.DialTLSConfig(encryption))
	}
	return kgo.NewClient(options...)
}

func franzCreate(bootstrap []string, settings config) (any, error) {
	client, err := franzClient(bootstrap, settings, "fg-admin")
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return kadm.NewClient(client).CreateTopics(context.Background(), 2, 1, nil, franzTopic)
}

func franzRecords(label string, count int) []*kgo.Record {
	records := make([]*kgo.Record, count)
	for number := range records {
		records[number] = &kgo.Record{
			Topic: franzTopic, Key: fmt.Appendf(nil, "%s-%d", label, number), Value: value(label, number),
			Headers: []kgo.RecordHeader{{Key: "source", Value: []byte("franz-go")}},
		}
	}
	return records
}

func franzProduce(bootstrap []string, settings config) (any, error) {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for label, codec := range codecs {
		client, err := franzClient(bootstrap, settings, "fg-"+label, kgo.ProducerBatchCompression(codec))
		if err != nil {
			return nil, err
		}
		err = client.ProduceSync(context.Background(), franzRecords(label, 5)...).FirstErr()
		client.Close()
		if err != nil {
			return nil, err
		}
	}
	client, err := franzClient(bootstrap, settings, "fg-acks-0", kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return "sent", client.ProduceSync(context.Background(), franzRecords("acks-0", 2)...).FirstErr()
}

func franzGroup(bootstrap []string, settings config) (any, error) {
	got := 0
	var members []*kgo.Client
	for _, name := range []string{"fg-consumer-1", "fg-consumer-2"} {
		member, err := franzClient(bootstrap, settings, name, kgo.ConsumerGroup("fg-group"), kgo.ConsumeTopics(franzTopic),
			kgo.HeartbeatInterval(time.Second), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		if err != nil {
			return nil, err
		}
		members = append(members, member)
		for range 10 {
			for _, each := range members {
				short, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
				got += each.PollFetches(short).NumRecords()
				cancel()
			}
		}
	}
	err := members[0].CommitUncommittedOffsets(context.Background())
	for _, member := range members {
		member.PauseFetchTopics(franzTopic)
	}
	time.Sleep(800 * time.Millisecond)
	for _, member := range members {
		member.Close()
	}
	return got, err
}

func franzTransactions(bootstrap []string, settings config) (any, error) {
	client, err := franzClient(bootstrap, settings, "fg-transactional", kgo.TransactionalID("fg-payments"))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for _, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		if err := client.BeginTransaction(); err != nil {
			return nil, err
		}
		if err := client.ProduceSync(context.Background(), franzRecords("tx", 1)...).FirstErr(); err != nil {
			return nil, err
		}
		if err := client.EndTransaction(context.Background(), commit); err != nil {
			return nil, err
		}
	}
	return "committed and aborted", nil
}

func franzAdmin(bootstrap []string, settings config) (any, error) {
	client, err := franzClient(bootstrap, settings, "fg-admin")
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ctx := context.Background()
	failures := []error{}
	note := func(err error) {
		if err != nil {
			failures = append(failures, err)
		}
	}
	_, err = admin.BrokerMetadata(ctx)
	note(err)
	_, err = admin.ListEndOffsets(ctx, franzTopic)
	note(err)
	_, err = admin.ListGroups(ctx)
	note(err)
	_, err = admin.DescribeGroups(ctx, "fg-group")
	note(err)
	_, err = admin.FetchOffsets(ctx, "fg-group")
	note(err)
	_, err = admin.DescribeTopicConfigs(ctx, franzTopic)
	note(err)
	_, err = admin.DescribeAllLogDirs(ctx, nil)
	note(err)
	epochs := kadm.OffsetForLeaderEpochRequest{}
	epochs.Add(franzTopic, 0, 0)
	_, err = admin.OffsetForLeaderEpoch(ctx, epochs)
	note(err)
	return failures, nil
}
