import { createAuditReader } from '../shared/adapters/audits/audit-log.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { pageRequest, parseAuditRange, query, takePage } from '../shared/api/request.ts';
import { auditRecord, isAuditId } from '../shared/domain/audit.ts';

const { environment, client, endpoint } = apiFunction('list-audits');
const audits = createAuditReader(client, environment.AUDITS_TABLE);

/** GET /audits: 200 with a page of the tenant's audit entries, oldest first unless `reverse` is true. */
export const handler = endpoint(
  (request) => ({
    ...pageRequest(request, environment.LINK_SCHEME, isAuditId),
    range: parseAuditRange(query(request)),
  }),
  async ({ page, range, respond }, { tenant }) => {
    const entries = audits.list(tenant, { ...range, start: page.marker, pageSize: page.limit + 1 });
    const { values, next } = await takePage(entries, page.limit);
    return respond({ values: values.map(auditRecord), next });
  },
);
