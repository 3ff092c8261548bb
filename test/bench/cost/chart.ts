import { escapeXml } from 'local-aws/aws-service.ts';
import { type Bill, billParts, total } from './prices.ts';

const COLORS = { tables: '#4e79a7', queues: '#f28e2b', functions: '#59a14f', logs: '#b07aa1' } as const;
const ROW_HEIGHT = 44;
const LABEL_WIDTH = 240;
const BAR_WIDTH = 460;
const MARGIN = 70;
const LEGEND_HEIGHT = 36;

type Named = { name: string; bill: Bill };

const text = (x: number, y: number, content: string, anchor = 'start'): string =>
  `<text x="${x.toFixed(0)}" y="${y}" text-anchor="${anchor}">${escapeXml(content)}</text>`;

const row = ({ name, bill }: Named, index: number, scale: number): string => {
  const top = LEGEND_HEIGHT + index * ROW_HEIGHT;
  let left = LABEL_WIDTH;
  const bars = billParts.map((part) => {
    const width = bill[part] * scale;
    const bar = `<rect x="${left.toFixed(1)}" y="${top + 8}" width="${width.toFixed(1)}" height="24" fill="${COLORS[part]}"/>`;
    left += width;
    return bar;
  });
  const labels = [
    text(LABEL_WIDTH - 10, top + 25, name, 'end'),
    text(left + 8, top + 25, `$${total(bill).toFixed(2)}`),
  ];
  return [...bars, ...labels].join('');
};

const legend = billParts
  .map((part, index) => {
    const left = LABEL_WIDTH + index * 100;
    return `<rect x="${left}" y="8" width="14" height="14" fill="${COLORS[part]}"/>${text(left + 20, 20, part)}`;
  })
  .join('');

/** Returns an SVG chart with a stacked bar for each bill. */
export const stackedBars = (bills: readonly Named[]): string => {
  const scale = BAR_WIDTH / Math.max(...bills.map(({ bill }) => total(bill)));
  const [width, height] = [LABEL_WIDTH + BAR_WIDTH + MARGIN, LEGEND_HEIGHT + bills.length * ROW_HEIGHT];
  const rows = bills.map((bill, index) => row(bill, index, scale)).join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="14" fill="#222">
<title>Dollars per million alarm events</title>
<rect width="${width}" height="${height}" fill="#fff"/>
${legend}
${rows}
</svg>
`;
};
