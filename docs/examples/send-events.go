// Sends alarm events, one per line of standard input, to the SQS queue in QUEUE_URL. Exits with 1 unless SQS has
// accepted all. Setup: go mod init send-events && go mod tidy. Run: go run send-events.go < events.ndjson
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	maxEntries    = 10
	maxBatchBytes = 1_000_000 // SQS accepts 1 MiB
	maxEventBytes = 256 * 1024
	maxAttempts   = 3
)

// message is an alarm event as JSON, from a line of the input.
type message struct {
	line                    int
	eventID, tenantID, body string
}

// rejected is a line that can never be sent as it is.
type rejected struct {
	line int
	code string
}

// JSON permits these two characters and SQS rejects them.
var escape = strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`)

var tenantPattern = regexp.MustCompile(`^[\x21-\x7e]{1,128}$`)

// parse checks a line, whose text is sent as it is, with every digit of its numbers.
func parse(number int, line []byte) (message, error) {
	var event map[string]any
	if !utf8.Valid(line) || json.Unmarshal(line, &event) != nil {
		return message{}, errors.New("InvalidJson")
	}
	eventID, hasEventID := event["event_id"].(string)
	if !hasEventID {
		return message{}, errors.New("NoEventId")
	}
	tenantID, _ := event["tenant_id"].(string)
	if !tenantPattern.MatchString(tenantID) {
		return message{}, errors.New("NoTenantId")
	}
	body := escape.Replace(string(line))
	if len(body) > maxEventBytes {
		return message{}, errors.New("TooLarge")
	}
	return message{number, eventID, tenantID, body}, nil
}

func readMessages(input io.Reader) (messages []message, invalid []rejected, err error) {
	reader := bufio.NewReader(input)
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		if text := bytes.TrimSpace(line); len(text) > 0 {
			parsed, problem := parse(number, text)
			if problem != nil {
				invalid = append(invalid, rejected{number, problem.Error()})
			} else {
				messages = append(messages, parsed)
			}
		}
		if err == io.EOF {
			return messages, invalid, nil
		}
		if err != nil {
			return messages, invalid, err
		}
	}
}

func batchesOf(messages []message) (batches [][]message) {
	size := 0
	for _, each := range messages {
		last := len(batches) - 1
		if last >= 0 && len(batches[last]) < maxEntries && size+len(each.body) <= maxBatchBytes {
			batches[last] = append(batches[last], each)
			size += len(each.body)
		} else {
			batches = append(batches, []message{each})
			size = len(each.body)
		}
	}
	return batches
}

// sendMessages returns lines that can never be sent as they are, and messages to keep and send again.
func sendMessages(ctx context.Context, client *sqs.Client, queueURL string, messages []message) (refused []rejected, unsent []message) {
	unsent = messages
	for attempt := 0; attempt < maxAttempts && len(unsent) > 0; attempt++ {
		if attempt > 0 {
			time.Sleep(time.Duration(rand.Int63n(int64(500*time.Millisecond) << attempt)))
		}
		var failed []message
		for _, batch := range batchesOf(unsent) {
			entries := make([]types.SendMessageBatchRequestEntry, len(batch))
			for i, each := range batch {
				entries[i] = types.SendMessageBatchRequestEntry{
					Id:             aws.String(strconv.Itoa(i)),
					MessageBody:    aws.String(each.body),
					MessageGroupId: aws.String(each.tenantID),
				}
			}
			input := &sqs.SendMessageBatchInput{QueueUrl: aws.String(queueURL), Entries: entries}
			output, err := client.SendMessageBatch(ctx, input)
			if err != nil {
				log.Print(err) // the SDK has repeated the request already
				failed = append(failed, batch...)
				continue
			}
			for _, success := range output.Successful {
				i, _ := strconv.Atoi(aws.ToString(success.Id))
				fmt.Println("sent", batch[i].eventID, aws.ToString(success.MessageId))
			}
			for _, failure := range output.Failed {
				i, _ := strconv.Atoi(aws.ToString(failure.Id))
				if failure.SenderFault {
					refused = append(refused, rejected{batch[i].line, aws.ToString(failure.Code)})
				} else {
					failed = append(failed, batch[i])
				}
			}
		}
		unsent = failed
	}
	return refused, unsent
}

func main() {
	ctx := context.Background()
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	messages, invalid, readError := readMessages(os.Stdin)
	refused, unsent := sendMessages(ctx, sqs.NewFromConfig(settings), os.Getenv("QUEUE_URL"), messages)
	for _, each := range append(invalid, refused...) {
		fmt.Println("rejected line", each.line, each.code)
	}
	for _, each := range unsent {
		fmt.Println("unsent line", each.line, each.eventID)
	}
	if readError != nil {
		log.Print(readError)
	}
	if readError != nil || len(invalid)+len(refused)+len(unsent) > 0 {
		os.Exit(1)
	}
}
