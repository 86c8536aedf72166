import { writeFileSync } from "node:fs";

/** Grafana's own types, made into those of JSON: enums are their values, options may be left out, and no other keys are allowed. */
const TYPES = `
import type { Dashboard, FieldConfig, Panel, RowPanel, VariableModel } from "@grafana/schema";
import type * as heatmap from "@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen";
import type * as stat from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type * as timeseries from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

type NumberIn<T extends string> = T extends \`\${infer N extends number}\` ? N : never;
type Json<T> = unknown extends T ? T
  : T extends string ? \`\${T}\`
  : T extends number ? NumberIn<\`\${T}\`>
  : T extends readonly (infer E)[] ? Json<E>[]
  : T extends object ? { [K in keyof T]: Json<T[K]> }
  : T;
type Partially<T> = T extends readonly unknown[] ? T : T extends object ? { [K in keyof T]?: Partially<T[K]> } : T;
type Defaults<Custom> = Omit<FieldConfig, "custom"> & { custom?: Partially<Custom> };
type Fields<Custom> = { defaults: Defaults<Custom>; overrides: NonNullable<Panel["fieldConfig"]>["overrides"] };
type Of<Options, Custom> =
  Json<Omit<Panel, "options" | "fieldConfig"> & { options: Partially<Options>; fieldConfig: Fields<Custom> }>;
type Settings = Json<Omit<Dashboard, "panels" | "templating">>;
type Variable = Json<VariableModel>;
type Panels = {
  row: Json<RowPanel>;
  stat: Of<stat.Options, object>;
  timeseries: Of<timeseries.Options, timeseries.FieldConfig>;
  heatmap: Of<heatmap.Options, heatmap.FieldConfig>;
};
`;

export interface GrafanaDashboard {
  readonly panels: readonly { readonly type: string }[];
  readonly templating: { readonly list: readonly object[] };
}

/** Writes a program that compiles if Grafana's types allow the dashboard. A line holds one panel, variable or the rest. */
export function writeTypedDashboard(file: string, dashboard: GrafanaDashboard): void {
  const { panels, templating, ...settings } = dashboard;
  const parts = [
    [settings, "Settings"] as const,
    ...templating.list.map((variable) => [variable, "Variable"] as const),
    ...panels.map((panel) => [panel, `Panels[${JSON.stringify(panel.type)}]`] as const),
  ];
  const lines = parts.map(
    ([part, type], index) => `export const part${index} = ${JSON.stringify(part)} satisfies ${type};`,
  );
  writeFileSync(file, TYPES + lines.join("\n"));
}
