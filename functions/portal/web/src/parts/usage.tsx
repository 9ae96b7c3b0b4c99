// Usage in numbers, each with its steps as bars.

import type { components } from '../openapi';
import { spoken, t } from '../words';

/** The bars say nothing that the numbers beside them do not say. */
const Bars = ({ of }: { of: number[] }) => {
  const most = Math.max(1, ...of);
  return (
    <svg viewBox={`0 0 ${of.length} 1`} preserveAspectRatio="none" aria-hidden="true">
      <path d={of.map((height, step) => `M${step + 0.5} 1v-${height / most}`).join('')} />
    </svg>
  );
};

const number = (n: number, options?: Intl.NumberFormatOptions) => new Intl.NumberFormat(spoken, options).format(n);

export function Usage({ of }: { of: components['schemas']['UsageStep'][] }) {
  const bars = (...names: string[]) => of.map(({ counts }) => names.reduce((sum, name) => sum + (counts[name] ?? 0), 0));
  const sum = (...names: string[]) => bars(...names).reduce((sum, n) => sum + n, 0);
  const attempts = sum('delivery.delivered', 'delivery.failed');
  const share = attempts && number(sum('delivery.delivered') / attempts, { style: 'percent', maximumFractionDigits: 1 });
  const figures: [string, string, number[]][] = [
    [t.deliveries.title, t.usage.deliveries(number(sum('delivery.delivered')), share || ''), bars('delivery.delivered')],
    [t.messages.title, t.usage.messages(number(sum('message.created.inbound')), number(sum('message.created.outbound'))), bars('message.created.inbound', 'message.created.outbound')],
    [t.leads.title, t.usage.leads(number(sum('lead.accepted')), number(sum('lead.failed'))), bars('lead.accepted')],
  ];
  return (
    <>
      <h2>{t.usage.day}</h2>
      <div class="figures">
        {figures.map(([name, says, bars]) => (
          <figure key={name}>
            <figcaption>
              <strong>{name}</strong>
              <div class="small">{says}</div>
            </figcaption>
            <Bars of={bars} />
          </figure>
        ))}
      </div>
    </>
  );
}
