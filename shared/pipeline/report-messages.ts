import type { OutgoingMessage, Queues } from '../adapters/queues.ts';
import type { DeliveryReport } from '../contracts/delivery-report.ts';
import { serializeBody } from '../contracts/messages.ts';
import type { EmailStop, Recipient } from '../domain/email-stop.ts';

export const tenantOfReport = (report: DeliveryReport): string =>
  report.kind === 'plan' ? report.event.tenant_id : report.tenant_id;

export const reportMessage = (report: DeliveryReport): OutgoingMessage => {
  const body = serializeBody(report);
  return { body: () => body, bytes: Buffer.byteLength(body), messageGroupId: tenantOfReport(report) };
};

/** Sends the stop of a mailbox to the queue of delivery reports. Repeating it has no effect. */
export type ReportStop = (recipient: Recipient, stop: EmailStop) => Promise<void>;

/** Creates the function that sends stops. @throws Error if SQS does not accept one */
export const createStopReports =
  (queues: Pick<Queues, 'sendAll'>, url: string): ReportStop =>
  async ({ tenant, address }, { reason, sinceMs }) => {
    const message = reportMessage({ kind: 'stop', tenant_id: tenant, address, reason, since_ms: sinceMs });
    if ((await queues.sendAll(url, [message])).length > 0) throw new Error('SQS refused the report of a stop.');
  };
