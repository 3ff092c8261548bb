import { escapeXml } from '../../../bin/local/aws/aws-service.ts';
import { type Bill, billParts, total } from './prices.ts';

const COLORS = { tables: '#4e79a7', queues: '#f28e2b', functions: '#59a14f', logs: '#b07aa1' } as const;
const ROW = 44;
const LABELS = 240;
const BARS = 460;
const MARGIN = 70;
const LEGEND = 36;

type Named = { name: string; bill: Bill };

const text = (x: number, y: number, content: string, anchor = 'start'): string =>
  `<text x="${x.toFixed(0)}" y="${y}" text-anchor="${anchor}">${escapeXml(content)}</text>`;

const row = ({ name, bill }: Named, index: number, scale: number): string => {
  const top = LEGEND + index * ROW;
  let left = LABELS;
  const bars = billParts.map((part) => {
    const width = bill[part] * scale;
    const bar = `<rect x="${left.toFixed(1)}" y="${top + 8}" width="${width.toFixed(1)}" height="24" fill="${COLORS[part]}"/>`;
    left += width;
    return bar;
  });
  const labels = [text(LABELS - 10, top + 25, name, 'end'), text(left + 8, top + 25, `$${total(bill).toFixed(2)}`)];
  return [...bars, ...labels].join('');
};

const legend = billParts
  .map((part, index) => {
    const left = LABELS + index * 100;
    return `<rect x="${left}" y="8" width="14" height="14" fill="${COLORS[part]}"/>${text(left + 20, 20, part)}`;
  })
  .join('');

/** Bills one below the other, each stacked of its parts, as an SVG. */
export const stackedBars = (bills: readonly Named[]): string => {
  const scale = BARS / Math.max(...bills.map(({ bill }) => total(bill)));
  const [width, height] = [LABELS + BARS + MARGIN, LEGEND + bills.length * ROW];
  const rows = bills.map((one, index) => row(one, index, scale)).join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="14" fill="#222">
<title>Dollars per million alarm events</title>
<rect width="${width}" height="${height}" fill="#fff"/>
${legend}
${rows}
</svg>
`;
};
