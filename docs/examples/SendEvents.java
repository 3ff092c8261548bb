import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.BatchResultErrorEntry;
import software.amazon.awssdk.services.sqs.model.SendMessageBatchRequestEntry;
import software.amazon.awssdk.services.sqs.model.SendMessageBatchResultEntry;

/**
 * Sends alarm events, one per line of standard input, to the SQS queue in QUEUE_URL. Exits with 1 unless SQS has
 * accepted all. It needs software.amazon.awssdk:sqs and com.fasterxml.jackson.core:jackson-databind.
 */
public final class SendEvents {
    private static final int MAX_ENTRIES = 10;
    private static final int MAX_BATCH_BYTES = 1_000_000; // SQS accepts 1 MiB
    private static final int MAX_EVENT_BYTES = 256 * 1024;
    private static final int MAX_ATTEMPTS = 3;
    private static final Pattern TENANT_ID = Pattern.compile("[\\x21-\\x7e]{1,128}");
    private static final ObjectMapper JSON =
            new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    record Message(int line, String eventId, String tenantId, String body, int bytes) {}

    /** A line that can never be sent as it is. */
    record Rejected(int line, String code) {}

    /** Why a line cannot be sent. */
    static final class InvalidLineException extends Exception {
        InvalidLineException(String code) {
            super(code);
        }
    }

    /** Checks a line, whose text is sent as it is, with every digit of its numbers. */
    static Message parse(int number, byte[] line) throws InvalidLineException {
        String text;
        JsonNode event;
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(line)).toString();
            event = JSON.readTree(text);
        } catch (CharacterCodingException | JsonProcessingException error) {
            throw new InvalidLineException("InvalidJson");
        }
        JsonNode eventId = event.path("event_id");
        JsonNode tenantId = event.path("tenant_id");
        if (!eventId.isTextual()) throw new InvalidLineException("NoEventId");
        if (!tenantId.isTextual() || !TENANT_ID.matcher(tenantId.textValue()).matches()) {
            throw new InvalidLineException("NoTenantId");
        }
        // JSON permits these two characters and SQS rejects them.
        String body = text.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff");
        int bytes = body.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > MAX_EVENT_BYTES) throw new InvalidLineException("TooLarge");
        return new Message(number, eventId.textValue(), tenantId.textValue(), body, bytes);
    }

    /** Returns the next line without its end, or null at the end of the input. */
    static byte[] readLine(InputStream input) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        int next = input.read();
        if (next < 0) return null;
        for (; next >= 0 && next != '\n'; next = input.read()) line.write(next);
        return line.toByteArray();
    }

    static List<List<Message>> batchesOf(List<Message> messages) {
        List<List<Message>> batches = new ArrayList<>();
        int bytes = 0;
        for (Message message : messages) {
            List<Message> last = batches.isEmpty() ? List.of() : batches.get(batches.size() - 1);
            if (last.isEmpty() || last.size() == MAX_ENTRIES || bytes + message.bytes() > MAX_BATCH_BYTES) {
                last = new ArrayList<>();
                batches.add(last);
                bytes = 0;
            }
            last.add(message);
            bytes += message.bytes();
        }
        return batches;
    }

    /** Sends messages and adds lines that can never be sent as they are. Returns those to keep and send again. */
    static List<Message> send(SqsClient sqs, String queueUrl, List<Message> messages, List<Rejected> rejected)
            throws InterruptedException {
        List<Message> unsent = messages;
        for (int attempt = 0; attempt < MAX_ATTEMPTS && !unsent.isEmpty(); attempt++) {
            if (attempt > 0) Thread.sleep(ThreadLocalRandom.current().nextLong(500L << attempt));
            List<Message> failed = new ArrayList<>();
            for (List<Message> batch : batchesOf(unsent)) {
                List<SendMessageBatchRequestEntry> entries = new ArrayList<>();
                for (Message message : batch) {
                    entries.add(SendMessageBatchRequestEntry.builder()
                        .id(String.valueOf(entries.size()))
                        .messageBody(message.body())
                        .messageGroupId(message.tenantId())
                        .build());
                }
                try {
                    var response = sqs.sendMessageBatch(request -> request.queueUrl(queueUrl).entries(entries));
                    for (SendMessageBatchResultEntry success : response.successful()) {
                        Message message = batch.get(Integer.parseInt(success.id()));
                        OUT.println("sent " + message.eventId() + " " + success.messageId());
                    }
                    for (BatchResultErrorEntry failure : response.failed()) {
                        Message message = batch.get(Integer.parseInt(failure.id()));
                        if (failure.senderFault()) rejected.add(new Rejected(message.line(), failure.code()));
                        else failed.add(message);
                    }
                } catch (SdkException error) {
                    System.err.println(error); // the SDK has repeated the request already
                    failed.addAll(batch);
                }
            }
            unsent = failed;
        }
        return unsent;
    }

    public static void main(String[] arguments) throws Exception {
        List<Message> messages = new ArrayList<>();
        List<Rejected> rejected = new ArrayList<>();
        InputStream input = new BufferedInputStream(System.in);
        int number = 0;
        for (byte[] line = readLine(input); line != null; line = readLine(input)) {
            number++;
            if (new String(line, StandardCharsets.ISO_8859_1).isBlank()) continue;
            try {
                messages.add(parse(number, line));
            } catch (InvalidLineException invalid) {
                rejected.add(new Rejected(number, invalid.getMessage()));
            }
        }
        try (SqsClient sqs = SqsClient.create()) {
            List<Message> unsent = send(sqs, System.getenv("QUEUE_URL"), messages, rejected);
            for (Rejected each : rejected) OUT.println("rejected line " + each.line() + " " + each.code());
            for (Message each : unsent) OUT.println("unsent line " + each.line() + " " + each.eventId());
            if (!rejected.isEmpty() || !unsent.isEmpty()) System.exit(1);
        }
    }
}
