import type { NotificationSettingsView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../../api/api-context.js";
import { Button } from "../../../ui/controls/button.js";
import { Checkbox } from "../../../ui/controls/field.js";
import { Failure } from "../../../ui/feedback/failure.js";
import { useNotify } from "../../../ui/feedback/notice.js";
import { QueryView } from "../../../ui/feedback/query-view.js";
import { Skeleton } from "../../../ui/feedback/skeleton.js";
import { Card } from "../../../ui/layout/page.js";
import { issuesOf } from "../../../words/issues.js";
import { EmailFields, WebhookFields } from "./channel-fields.js";
import { IntervalField } from "./interval-field.js";
import { notificationDraft, notificationPatch } from "./notification-draft.js";
import { INCIDENT_WORDS } from "./notification-words.js";
import { RecentNotifications } from "./recent-notifications.js";
import { TestNotification } from "./test-notification.js";

const KEY = ["notifications", "settings"] as const;

/** Where notifications go, and what about. */
export function NotificationsCard() {
  const api = useApi();
  const settings = useQuery({ queryKey: KEY, queryFn: () => api.notifications.settings() });
  return (
    <Card title="Notifications" note="Sent once when something goes wrong, and once when it is over">
      <QueryView query={settings} skeleton={<Skeleton lines={18} />}>
        {(found) => (
          <div className="stack-wide">
            <NotificationsForm key={found.version} settings={found} />
            <TestNotification isSetUp={found.webhook !== undefined || found.email !== undefined} />
            <RecentNotifications />
          </div>
        )}
      </QueryView>
    </Card>
  );
}

function NotificationsForm({ settings }: { settings: NotificationSettingsView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const [draft, setDraft] = useState(() => notificationDraft(settings));
  const save = useMutation({
    mutationFn: () => api.notifications.configure(notificationPatch(draft, settings.version)),
    onSuccess: (saved) => {
      queries.setQueryData(KEY, saved);
      notify("Saved");
    },
  });
  const issues = issuesOf(save.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form className="stack-wide" onSubmit={submit} noValidate>
      <WebhookFields
        draft={draft.webhook}
        hasSecret={settings.webhook !== undefined}
        issues={issues}
        onChange={(part) => setDraft({ ...draft, webhook: { ...draft.webhook, ...part } })}
      />
      <EmailFields
        draft={draft.email}
        hasPassword={settings.email?.passwordSet === true}
        issues={issues}
        onChange={(part) => setDraft({ ...draft, email: { ...draft.email, ...part } })}
      />
      <KindFields chosen={draft.kinds} onChange={(kinds) => setDraft({ ...draft, kinds })} />
      <IntervalField
        value={draft.minInterval}
        issues={issues}
        onChange={(minInterval) => setDraft({ ...draft, minInterval })}
      />
      {save.isError && issues.length === 0 && <Failure error={save.error} />}
      <div>
        <Button look="primary" type="submit" busy={save.isPending}>
          Save notifications
        </Button>
      </div>
    </form>
  );
}

type Kinds = NotificationSettingsView["kinds"];

function KindFields({ chosen, onChange }: { chosen: Kinds; onChange: (kinds: Kinds) => void }) {
  const all = Object.keys(INCIDENT_WORDS) as (keyof typeof INCIDENT_WORDS)[];
  return (
    <fieldset className="stack-tight">
      <legend className="field-label">Notify when</legend>
      {all.map((kind) => (
        <Checkbox
          key={kind}
          label={INCIDENT_WORDS[kind].label}
          hint={INCIDENT_WORDS[kind].hint}
          checked={chosen.includes(kind)}
          onChange={(isOn) => onChange(all.filter((one) => (one === kind ? isOn : chosen.includes(one))))}
        />
      ))}
    </fieldset>
  );
}
