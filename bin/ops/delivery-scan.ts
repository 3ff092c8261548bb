import { parseRecord } from '../../shared/adapters/deliveries/stored-record.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { pluralize } from './print.ts';
import type { Session } from './session.ts';
import { type ScanFilter, scanTable } from './table-scan.ts';
import { createPace, realTime } from './tenant/pace.ts';

/** 8 MB of a scan per second. A partition of a table serves 3,000 read units per second. */
const SCAN_UNITS_PER_SECOND = 1_000;

/** Scans table Deliveries for records of all tenants. Yields those of each page, in any order. */
export async function* scanDeliveries(session: Session, filter: ScanFilter): AsyncGenerator<DeliveryRecord[]> {
  const { deployment, progress } = session;
  const pace = createPace(SCAN_UNITS_PER_SECOND, realTime);
  let scanned = 0;
  for await (const { items, count, units } of scanTable(session, deployment.outputs.DeliveriesTable, filter)) {
    yield items.map(parseRecord);
    scanned += count;
    progress.show(`Read ${pluralize(scanned, 'item')} of table Deliveries. --tenant reads only those of a tenant.`);
    await pace.spend(units);
  }
  progress.clear();
}
