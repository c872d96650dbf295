package main

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

const saramaTopic = "orders-sa"

func saramaConfig(settings config, name string) (*sarama.Config, error) {
	conf := sarama.NewConfig()
	conf.ClientID = name
	conf.Producer.Return.Successes = true
	conf.Consumer.Offsets.Initial = sarama.OffsetOldest
	conf.Consumer.MaxWaitTime = 200 * time.Millisecond
	conf.Consumer.Group.Heartbeat.Interval = time.Second
	conf.ApiVersionsRequest = settings["version"] == ""
	if text := settings["version"]; text != "" {
		version, err := sarama.ParseKafkaVersion(text)
		if err != nil {
			return nil, err
		}
		conf.Version = version
	} else {
		conf.Version = sarama.MaxVersion
	}
	if user := settings["user"]; user != "" {
		conf.Net.SASL.Enable = true
		conf.Net.SASL.User = user
		conf.Net.SASL.Password = settings["password"]
		conf.Net.SASL.Version = sarama.SASLHandshakeV1
		if settings["handshake"] == "0" {
			conf.Net.SASL.Version = sarama.SASLHandshakeV0
		}
		if settings["mechanism"] == "SCRAM-SHA-256" {
			conf.Net.SASL.Mechanism = sarama.SASLTypeSCRAMSHA256
			conf.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{} }
		}
	}
	encryption, err := settings.tlsConfig()
	if err != nil {
		return nil, err
	}
	if encryption != nil {
		conf.Net.TLS.Enable = true
		conf.Net.TLS.Config = encryption
	}
	return conf, nil
}

func saramaCreate(bootstrap []string, settings config) (any, error) {
	conf, err := saramaConfig(settings, "sa-admin")
	if err != nil {
		return nil, err
	}
	admin, err := sarama.NewClusterAdmin(bootstrap, conf)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	return "created", admin.CreateTopic(saramaTopic, &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}, false)
}

func saramaSend(bootstrap []string, conf *sarama.Config, label string, count int) error {
	conf.ClientID = "sa-" + label
	producer, err := sarama.NewSyncProducer(bootstrap, conf)
	if err != nil {
		return err
	}
	defer producer.Close()
	for number := range count {
		message := &sarama.ProducerMessage{
			Topic: saramaTopic, Key: sarama.StringEncoder(label), Value: sarama.ByteEncoder(value(label, number)),
		}
		if _, _, err := producer.SendMessage(message); err != nil {
			return err
		}
	}
	return nil
}

func saramaProduce(bootstrap []string, settings config) (any, error) {
	codecs := []sarama.CompressionCodec{
		sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy, sarama.CompressionLZ4, sarama.CompressionZSTD,
	}
	for _, codec := range codecs {
		conf, err := saramaConfig(settings, "")
		if err != nil {
			return nil, err
		}
		conf.Producer.Compression = codec
		if err := saramaSend(bootstrap, conf, codec.String(), 2); err != nil {
			fmt.Printf("%s: %v\n", codec, err)
		}
	}
	for label, acks := range map[string]sarama.RequiredAcks{"acks-0": sarama.NoResponse, "acks-all": sarama.WaitForAll} {
		conf, err := saramaConfig(settings, "")
		if err != nil {
			return nil, err
		}
		conf.Producer.RequiredAcks = acks
		if err := saramaSend(bootstrap, conf, label, 1); err != nil {
			return nil, err
		}
	}
	return "sent", nil
}

// saramaRead reads a partition without a group, and keeps its offset under a group's name.
func saramaRead(bootstrap []string, settings config) (any, error) {
	conf, err := saramaConfig(settings, "sa-reader")
	if err != nil {
		return nil, err
	}
	client, err := sarama.NewClient(bootstrap, conf)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(saramaTopic, 0, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	got := 0
	next := int64(0)
	for waited := false; !waited; {
		select {
		case message := <-partition.Messages():
			got++
			next = message.Offset + 1
		case <-time.After(2 * time.Second):
			waited = true
		}
	}
	partition.Close()
	offsets, err := sarama.NewOffsetManagerFromClient("sa-readers", client)
	if err != nil {
		return got, err
	}
	defer offsets.Close()
	kept, err := offsets.ManagePartition(saramaTopic, 0)
	if err != nil {
		return got, err
	}
	kept.MarkOffset(next, "")
	offsets.Commit()
	return got, kept.Close()
}

type counter struct {
	mutex sync.Mutex
	got   int
}

func (*counter) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*counter) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (c *counter) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		c.mutex.Lock()
		c.got++
		c.mutex.Unlock()
		session.MarkMessage(message, "")
	}
	return nil
}

func saramaGroup(bootstrap []string, settings config) (any, error) {
	seen := &counter{}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	var members []sarama.ConsumerGroup
	for number := range 2 {
		conf, err := saramaConfig(settings, fmt.Sprintf("sa-consumer-%d", number+1))
		if err != nil {
			cancel()
			return nil, err
		}
		conf.Consumer.Offsets.AutoCommit.Interval = 500 * time.Millisecond
		member, err := sarama.NewConsumerGroup(bootstrap, "sa-group", conf)
		if err != nil {
			cancel()
			return nil, err
		}
		members = append(members, member)
		done.Add(1)
		go func() {
			defer done.Done()
			for ctx.Err() == nil {
				if err := member.Consume(ctx, []string{saramaTopic}, seen); err != nil {
					return
				}
			}
		}()
		time.Sleep(3 * time.Second)
	}
	time.Sleep(2 * time.Second)
	for _, member := range members {
		member.PauseAll()
	}
	time.Sleep(800 * time.Millisecond)
	cancel()
	for _, member := range members {
		member.Close()
	}
	done.Wait()
	return seen.got, nil
}

func saramaTransaction(bootstrap []string, settings config) (any, error) {
	conf, err := saramaConfig(settings, "sa-transactional")
	if err != nil {
		return nil, err
	}
	conf.Producer.Idempotent = true
	conf.Producer.Transaction.ID = "sa-payments"
	conf.Producer.RequiredAcks = sarama.WaitForAll
	conf.Net.MaxOpenRequests = 1
	producer, err := sarama.NewSyncProducer(bootstrap, conf)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	for _, finish := range []func() error{producer.CommitTxn, producer.AbortTxn} {
		if err := producer.BeginTxn(); err != nil {
			return nil, err
		}
		message := &sarama.ProducerMessage{Topic: saramaTopic, Value: sarama.ByteEncoder(value("tx", 0))}
		if _, _, err := producer.SendMessage(message); err != nil {
			return nil, err
		}
		if err := finish(); err != nil {
			return nil, err
		}
	}
	return "committed and aborted", nil
}

func saramaAdmin(bootstrap []string, settings config) (any, error) {
	conf, err := saramaConfig(settings, "sa-admin")
	if err != nil {
		return nil, err
	}
	admin, err := sarama.NewClusterAdmin(bootstrap, conf)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	_, _, err = admin.DescribeCluster()
	failures := []error{err}
	_, err = admin.DescribeTopics([]string{saramaTopic})
	failures = append(failures, err)
	_, err = admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: saramaTopic})
	failures = append(failures, err)
	_, err = admin.ListConsumerGroups()
	failures = append(failures, err)
	_, err = admin.DescribeConsumerGroups([]string{"sa-group"})
	failures = append(failures, err)
	_, err = admin.ListConsumerGroupOffsets("sa-group", map[string][]int32{saramaTopic: {0, 1}})
	failures = append(failures, err)
	value := "3600000"
	failures = append(failures,
		admin.AlterConfig(sarama.TopicResource, saramaTopic, map[string]*string{"retention.ms": &value}, false),
		admin.DeleteConsumerGroup("sa-group"), admin.DeleteTopic(saramaTopic))
	return failures, nil
}

// scramClient speaks SCRAM-SHA-256 (RFC 5802, RFC 7677); sarama leaves that to its user.
type scramClient struct {
	user, password, first, nonce string
	step                         int
	finished                     bool
}

func (c *scramClient) Begin(user, password, _ string) error {
	random := make([]byte, 18)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	*c = scramClient{user: user, password: password, nonce: base64.StdEncoding.EncodeToString(random)}
	return nil
}

func (c *scramClient) Step(challenge string) (string, error) {
	c.step++
	switch c.step {
	case 1:
		c.first = "n=" + c.user + ",r=" + c.nonce
		return "n,," + c.first, nil
	case 2:
		fields := map[string]string{}
		for _, part := range strings.Split(challenge, ",") {
			key, text, _ := strings.Cut(part, "=")
			fields[key] = text
		}
		salt, err := base64.StdEncoding.DecodeString(fields["s"])
		if err != nil {
			return "", err
		}
		rounds, err := strconv.Atoi(fields["i"])
		if err != nil {
			return "", err
		}
		salted, err := pbkdf2.Key(sha256.New, c.password, salt, rounds, sha256.Size)
		if err != nil {
			return "", err
		}
		bare := "c=biws,r=" + fields["r"]
		clientKey := mac(salted, "Client Key")
		stored := sha256.Sum256(clientKey)
		proof := mac(stored[:], c.first+","+challenge+","+bare)
		for index := range proof {
			proof[index] ^= clientKey[index]
		}
		return bare + ",p=" + base64.StdEncoding.EncodeToString(proof), nil
	default:
		c.finished = true
		return "", nil
	}
}

func (c *scramClient) Done() bool { return c.finished }

func mac(key []byte, text string) []byte {
	hash := hmac.New(sha256.New, key)
	hash.Write([]byte(text))
	return hash.Sum(nil)
}
