import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { EmailStops } from '../../adapters/accounts/email-stops.ts';
import type { OptOutKeys } from '../../adapters/accounts/opt-out-keys.ts';
import type { AuditLog } from '../../adapters/audits/audit-log.ts';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { type EmailStop, isOptOutQuery, parseOptOutQuery, type Recipient } from '../../domain/email-stop.ts';
import { type Clock, secondsToNextDay } from '../../domain/time.ts';
import type { ReportStop } from '../report-messages.ts';
import { invalidPage, limitPage, type PageResponse, requestedChange, statePage, unavailablePage } from './page.ts';

export type OptOutDependencies = {
  optOutKeys: Pick<OptOutKeys, 'find'>;
  stops: Pick<EmailStops, 'find' | 'optOut' | 'resume'>;
  audits: Pick<AuditLog, 'by'>;
  reportStop: ReportStop;
  clock?: Clock;
};

/**
 * The page of docs/decisions/opt-out.md. GET and HEAD have no effect: mail services open links before recipients do.
 */
export const createOptOutHandler = ({
  optOutKeys,
  stops,
  audits,
  reportStop,
  clock = Date.now,
}: OptOutDependencies) => {
  /** Neither the address of the client nor that of the recipient becomes known to the tenant. */
  const auditOf = ({ tenant }: Recipient, requestId: string) =>
    audits.by({ tenant, context: { actor: { type: 'recipient' }, request_id: requestId } });

  /** Reports a stop. If that fails, the next email to the mailbox reports it: stopping is never refused. */
  const report = async (recipient: Recipient, stop: EmailStop): Promise<void> => {
    try {
      await reportStop(recipient, stop);
    } catch (error) {
      logger.error('stop not reported', { tenant_id: recipient.tenant, ...errorTrace(error) });
    }
  };

  const show = async (recipient: Recipient, statusCode: 200 | 400): Promise<PageResponse> =>
    statePage(statusCode, recipient.tenant, await stops.find(recipient));

  const answer = async (request: APIGatewayProxyEventV2): Promise<PageResponse> => {
    const { rawQueryString, routeKey, requestContext, body = '', isBase64Encoded } = request;
    if (!isOptOutQuery(rawQueryString)) return invalidPage;
    const key = await optOutKeys.find();
    const recipient = key && parseOptOutQuery(key, rawQueryString);
    if (!recipient) return invalidPage;
    if (!routeKey.startsWith('POST ')) return show(recipient, 200);
    const change = requestedChange(body, isBase64Encoded);
    if (!change) return show(recipient, 400);
    const audit = auditOf(recipient, requestContext.requestId);
    if (change === 'stop') {
      const stop = await stops.optOut(recipient, audit);
      if (stop) await report(recipient, stop);
    } else if ((await stops.resume(recipient, audit)) === 'limited')
      return limitPage(recipient.tenant, secondsToNextDay(clock()));
    return show(recipient, 200);
  };

  return async (request: APIGatewayProxyEventV2): Promise<PageResponse> => {
    const page = await answer(request).catch((error: unknown) => {
      logger.error('request failed', { request_id: request.requestContext.requestId, ...errorTrace(error) });
      return unavailablePage;
    });
    return request.routeKey.startsWith('HEAD ') ? { ...page, body: '' } : page;
  };
};
