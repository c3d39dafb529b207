// Plots over time, drawn by uPlot.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { colour, onTheme } from "./theme";

export interface Series {
  label: string;
  /** Name of a colour of the style sheet. */
  colour: string;
}

/** Areas on top of each other: values[i] belongs to series[i]. */
export function StackedPlot(p: { series: Series[]; times: number[]; values: number[][]; height: number; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = stack(p.times, p.values);
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const element = box.current!;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(p.series, element.clientWidth, p.height), latest.current as uPlot.AlignedData, element);
    };
    make();
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: p.height }));
    resize.observe(element);
    const off = onTheme(make);
    return () => {
      off();
      resize.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [p.series.map((s) => s.label).join()]);
  useEffect(() => {
    plot.current?.setData(data as uPlot.AlignedData);
  }, [p.times[p.times.length - 1], p.values]);

  return <div class="plot" ref={box} role="img" aria-label={p.label} />;
}

/** The tops of the areas, the topmost series first, so that later ones are drawn over it. */
function stack(times: number[], values: number[][]): number[][] {
  const sums = times.map(() => 0);
  const tops = values.map((series) => series.map((v, i) => (sums[i] += v)));
  return [times, ...tops.reverse()];
}

function options(series: Series[], width: number, height: number): uPlot.Options {
  const muted = colour("muted");
  const font = "11px system-ui, sans-serif";
  const axis = { stroke: muted, font, ticks: { show: false }, grid: { stroke: colour("line"), width: 1 } };
  return {
    width,
    height,
    padding: [6, 26, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      // A plot that has just begun is as wide as one of a minute.
      x: { range: (_, min, max) => [Math.min(min, max - 60), max] },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
    },
    axes: [
      {
        ...axis,
        size: 20,
        space: 90,
        grid: { show: false },
        values: (_, at) => at.map((t) => new Date(t * 1000).toTimeString().slice(0, 8)),
      },
      { ...axis, size: 38, space: 22, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000] },
    ],
    series: [
      {},
      ...series
        .slice()
        .reverse()
        .map((s) => ({ label: s.label, fill: colour(s.colour), points: { show: false } })),
    ],
  };
}
