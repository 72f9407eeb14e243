using System;
using System.Collections.Generic;
using System.Threading;

namespace Headrace
{
    /// <summary>Streams the live files of Delta tables, newest first, in bounded memory.</summary>
    public interface ILazyDeltaScanner : IDisposable, IAsyncDisposable
    {
        /// <summary>Streams the live files of a table as they are found.</summary>
        /// <param name="tablePath">The table's name on a server, or its path or URI in process.</param>
        /// <param name="options">The predicate, limit and version; null means all files of the newest version.</param>
        /// <param name="cancellationToken">Cancels the scan.</param>
        /// <remarks>Leaving the loop early stops the scan, also on the server.</remarks>
        IAsyncEnumerable<DeltaFile> ScanFilesAsync(
            string tablePath,
            ScanOptions options = null,
            CancellationToken cancellationToken = default(CancellationToken));
    }
}
