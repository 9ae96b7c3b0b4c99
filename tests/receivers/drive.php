<?php
// Prints the verdict of verify.php on each vector in the given file.
declare(strict_types=1);

require __DIR__ . '/verify.php';

$verdicts = [];
foreach (json_decode(file_get_contents($argv[1]), true) as $vector) {
    ['headers' => $headers, 'secrets' => $secrets] = $vector;
    $body = str_replace('{fill}', str_repeat('x', $vector['fill'] ?? 0), $vector['body']);
    $verdicts[] = [verify($headers, $body, $secrets, $vector['now']), verify_legacy($headers, $body, $secrets)];
}
echo json_encode($verdicts);
