import { createAuditReader } from '../shared/adapters/audits/audit-reader.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { parseAuditRange } from '../shared/api/audit-range.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { parsePage, takePage } from '../shared/api/paging.ts';
import { query, requestUrl } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { collection } from '../shared/contracts/collection.ts';
import { auditRecord } from '../shared/domain/audit.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('list-audits');
const client = createDocumentClient();
const audits = createAuditReader(client, environment.AUDITS_TABLE);

/** GET /audits: 200 with a page of the tenant's audit entries, oldest first unless `reverse` is true. */
export const handler = endpoint(
  'list-audits',
  tokenAuthentication(client, environment),
  (request) => ({
    page: parsePage(query(request)),
    range: parseAuditRange(query(request)),
    self: { href: requestUrl(request, environment.LINK_SCHEME), query: query(request) },
  }),
  async ({ page, range, self }, { tenant }) => {
    const entries = audits.list(tenant, range, page.marker, page.limit + 1);
    const { values, next } = await takePage(entries, page.limit);
    return ok(collection({ values: values.map(auditRecord), next }, page, self));
  },
);
